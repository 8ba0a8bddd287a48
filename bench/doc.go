// Package bench is the engine by itself, for measurements: the agent, its door for
// verdicts, its database and its client of the model, without Slack. Nothing in it is
// simpler than in the program: runs are the agent's runs, in the tables of the
// program, and every commit is made.
package bench
