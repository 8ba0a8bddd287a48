// Reads the events of `go test -json` and prints what `go test` itself would:
// one line for each package, and everything that a failing test said. A skipped
// test fails the run, since whoever reads "ok" believes that it ran.
import { createInterface } from 'node:readline'

const said = new Map() // package + test ► its lines so far
const skipped = []
let failed = false

const keyOf = (event) => `${event.Package} ${event.Test}`

function onTest(event) {
  const key = keyOf(event)
  switch (event.Action) {
    case 'output':
      if (!said.has(key)) said.set(key, [])
      said.get(key).push(event.Output)
      break
    case 'skip':
      // A fuzz target skips inputs that are not its business; pictures are taken on
      // demand, the soak runs by make soak, what takes minutes to build by make checkers.
      if (!/^Fuzz/.test(event.Test) && !/only with -update|make soak|make checkers/.test((said.get(key) ?? []).join(''))) skipped.push(`${event.Package}: ${event.Test}\n${(said.get(key) ?? []).join('')}`)
      said.delete(key)
      break
    case 'pass':
      said.delete(key)
      break
    case 'fail':
      process.stdout.write((said.get(key) ?? []).filter((line) => !/^=== /.test(line)).join(''))
      said.delete(key)
  }
}

// A package that dies leaves tests without a verdict; what they said is the trace.
function onPackageFailed(name) {
  failed = true
  for (const [key, lines] of said) {
    if (key.startsWith(`${name} `)) {
      process.stdout.write(lines.join(''))
      said.delete(key)
    }
  }
}

function onPackage(event) {
  if (event.Action === 'output' || event.Action === 'build-output') {
    if (!/^(PASS|=== .*)\n$/.test(event.Output)) process.stdout.write(event.Output)
  } else if (event.Action === 'fail' || event.Action === 'build-fail') {
    onPackageFailed(event.Package)
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let event
  try {
    event = JSON.parse(line)
  } catch {
    console.log(line) // not an event: the go command itself speaks
    continue
  }
  if (event.Test) onTest(event)
  else onPackage(event)
}

if (skipped.length > 0) {
  console.log(`\n${skipped.length} skipped, which counts as failed here:\n${skipped.join('')}`)
  failed = true
}
process.exitCode = failed ? 1 : 0
