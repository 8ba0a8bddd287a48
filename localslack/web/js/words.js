// The page's own words, in the language of whoever you are. English is the
// key; a text that has no translation stays English.

import { language } from './dates.js';
import { h } from './dom.js';
import { me, state } from './store.js';

const ZH = {
  'You are': '你的身份', Channels: '频道', App: '应用', 'Home tab': '主页', Home: '主页', Thread: '消息列', Messages: '消息',
  'local Slack · this machine only': '本地 Slack · 仅限本机',
  'team member': '团队成员', manager: '经理', finance: '财务', outsider: '外部人员', guest: '访客', app: '应用', archived: '已归档', shared: '已共享',
  'Try these': '试一试', 'Fill in': '填入', 'as {name}': '身份：{name}', 'Not yet: {why}': '尚不可用：{why}', 'not built so far': '尚未完成',
  'Message {place} as {name}': '以{name}的身份发消息到 {place}', 'Reply as {name}': '以{name}的身份回复',
  sends: '发送', Send: '发送', 'Attach a file': '添加文件', 'Mention somebody': '提及某人', 'Take away': '移除', People: '成员',
  '1 reply': '1 条回复', '{n} replies': '{n} 条回复', 'last at {time}': '最近 {time}', 'Only visible to you': '仅你可见', '(edited)': '（已编辑）',
  'replied to a thread': '在消息列中回复', '_This message was deleted._': '_此消息已删除。_',
  React: '添加表情', 'Add a reaction': '添加表情', 'Reply in thread': '在消息列中回复', Edit: '编辑', Delete: '删除', 'More actions': '更多操作', Message: '消息',
  'Message tools': '消息工具', More: '更多', 'Edit the message': '编辑消息', Save: '保存', Cancel: '取消', Yes: '是', Close: '关闭', Back: '返回', Dismiss: '关闭',
  'Back to channels': '返回频道列表', 'Back to the channel': '返回频道', 'Close the thread': '关闭消息列', Join: '加入',
  'You are looking at #{name} from outside.': '你尚未加入 #{name}。', 'This channel is archived.': '此频道已归档。', 'Only members can reply here.': '只有成员可以在此回复。',
  'No channel': '没有频道', 'There is no channel here that you may see.': '这里没有你可以查看的频道。',
  'This is the beginning of #{name}': '这是 #{name} 的开头', 'Here you and {name} are alone': '这里只有你和 {name}',
  'What you write here goes straight to the app.': '你在这里写的内容会直接发给应用。',
  'Mention @{name} to ask it for something. Its answers come as a thread under your message.': '提及 @{name} 即可向它提问，它会在你的消息下回复。',
  '{name} has not put anything here yet.': '{name} 还没有在这里放任何内容。', '{n} members': '{n} 位成员', 'You are {name}. Be somebody else': '你是{name}。切换身份', 'Who are you?': '你是谁？',
  '{name} was mentioned': '有人提及了{name}', 'Choose an option': '请选择', Choose: '请选择', ' (optional)': '（选填）', Previous: '上一页', Next: '下一页', '1 row': '1 行', '{n} rows': '{n} 行',
  'to do': '待办', 'in progress': '进行中', done: '完成', failed: '失败', 'Pages of the table': '表格分页', Table: '表格', Progress: '进度',
  'Not connected. Trying again…': '连接已断开，正在重试…', 'Slash commands do not work in threads.': '斜杠命令不能在消息列中使用。',
  'Colours: as the system': '外观：跟随系统', 'Colours: light': '外观：浅色', 'Colours: dark': '外观：深色',
  'You are not a member of this channel. Join it first.': '你不是此频道的成员，请先加入。', 'Only its author may change this message.': '只有作者可以更改此消息。',
  'That message is gone.': '该消息已不存在。', 'The app has no such command.': '应用没有这个命令。', 'There is nothing to send.': '没有可发送的内容。',
  'This text is too long for one message.': '文字过长，无法作为一条消息发送。', 'That view is closed already.': '该窗口已关闭。',
  'The server cannot be reached. Is the demo still running?': '无法连接服务器。演示还在运行吗？', 'That did not work: {code}.': '操作未成功：{code}。',
  'The app is connected': '应用已连接', 'The app is not connected': '应用未连接',
  'Break something': '制造故障', 'Deliver the next mention three times': '把下一次提及投递三次', 'Deliver the next thing 5 s late': '下一次投递推迟 5 秒',
  'Lose the next click': '丢失下一次点击', 'Answer the next three calls with 429': '对接下来三次调用返回 429', 'Lose the answer to the next post': '丢失下一次发消息的应答',
  'Cut the connection': '断开连接', 'Mend everything': '全部恢复', 'Done: {what}.': '已设置：{what}。',
};

/** t says text in the viewer's language and fills in {names}. */
export function t(text, values = {}) {
  const said = state.snap?.words?.[text] || (language(me()) === 'zh' && ZH[text]) || text;
  return said.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** word is an element that keeps saying text when the viewer changes. */
export function word(tag, text) {
  return h(tag, { data: { say: text } }, text);
}

/** respeak says again everything that was made by word or carries data-say-label. */
export function respeak() {
  for (const el of document.querySelectorAll('[data-say]')) say(el, t(el.dataset.say));
  for (const el of document.querySelectorAll('[data-say-label]')) {
    const text = t(el.dataset.sayLabel);
    el.setAttribute('aria-label', text);
    if (el.matches('button')) el.title = text;
  }
}

function say(el, text) {
  if (el.textContent !== text) el.textContent = text;
}
