// A Bolt app in Socket Mode, as Slack's documentation writes them: a mention
// gets a card, a click opens a form, its submission is refused once and then
// settles the card. The Go test next to it plays the people.
const { App, LogLevel } = require("@slack/bolt");

const plain = (text) => ({ type: "plain_text", text });

const app = new App({
  token: process.env.SLACK_BOT_TOKEN,
  appToken: process.env.SLACK_APP_TOKEN,
  socketMode: true,
  logLevel: LogLevel.WARN,
  clientOptions: { slackApiUrl: process.env.SLACK_API_URL },
});

app.event("app_mention", async ({ event, say }) => {
  await say({
    thread_ts: event.thread_ts ?? event.ts,
    text: "Delete doc_42?",
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "countersign", event_payload: { run: "run_1" } },
    blocks: [
      { type: "section", text: { type: "mrkdwn", text: `*Delete doc_42?* asked by <@${event.user}>` } },
      {
        type: "actions",
        elements: [{ type: "button", action_id: "approval_edit", text: plain("Edit"), value: "ap_1" }],
      },
    ],
  });
});

app.action("approval_edit", async ({ ack, body, client }) => {
  await ack();
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: "modal",
      callback_id: "approval_edit_modal",
      private_metadata: JSON.stringify({ channel: body.channel.id, ts: body.message.ts }),
      title: plain("Edit"),
      submit: plain("Approve"),
      blocks: [
        {
          type: "input",
          block_id: "arg:id",
          label: plain("id"),
          element: { type: "plain_text_input", action_id: "value", initial_value: body.actions[0].value },
        },
      ],
    },
  });
});

app.view("approval_edit_modal", async ({ ack, view, body, client }) => {
  const id = view.state.values["arg:id"].value.value;
  if (id === "ap_1") {
    await ack({ response_action: "errors", errors: { "arg:id": "nothing changed" } });
    return;
  }
  await ack();
  const { channel, ts } = JSON.parse(view.private_metadata);
  await client.chat.update({ channel, ts, text: `Approved with ${id} by <@${body.user.id}>`, blocks: [] });
});

app.command("/countersign", async ({ ack, command }) => {
  await ack(`nothing is pending for ${command.user_name}`);
});

app.event("app_home_opened", async ({ event, client }) => {
  await client.views.publish({
    user_id: event.user,
    view: { type: "home", blocks: [{ type: "section", text: plain("Nothing waits for you") }] },
  });
});

app.message("upload", async ({ message, client }) => {
  await client.files.uploadV2({
    channel_id: message.channel,
    thread_ts: message.ts,
    filename: "rows.csv",
    content: "a,b\n1,2\n",
    initial_comment: "All rows",
  });
});

app.start().then(() => console.log("ready"));
