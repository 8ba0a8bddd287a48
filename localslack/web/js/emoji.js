// Emoji short codes to characters: the ones that bots and people use most.
// An unknown code stays as it was typed, which is what Slack shows too.

const TABLE = `
+1 👍|thumbsup 👍|-1 👎|thumbsdown 👎|ok_hand 👌|wave 👋|clap 👏|pray 🙏|raised_hands 🙌|muscle 💪|point_right 👉|point_left 👈
point_up ☝️|point_down 👇|eyes 👀|brain 🧠|smile 😄|slightly_smiling_face 🙂|grinning 😀|joy 😂|wink 😉|blush 😊|heart_eyes 😍
thinking_face 🤔|neutral_face 😐|confused 😕|cry 😢|sob 😭|scream 😱|sweat_smile 😅|sunglasses 😎|robot_face 🤖|ghost 👻
heart ❤️|broken_heart 💔|100 💯|boom 💥|fire 🔥|sparkles ✨|star ⭐|tada 🎉|rocket 🚀|gift 🎁|trophy 🏆|bulb 💡|zap ⚡
white_check_mark ✅|heavy_check_mark ✔️|ballot_box_with_check ☑️|x ❌|negative_squared_cross_mark ❎|no_entry ⛔|no_entry_sign 🚫
warning ⚠️|rotating_light 🚨|exclamation ❗|question ❓|grey_question ❔|information_source ℹ️|octagonal_sign 🛑|stop_sign 🛑
large_green_circle 🟢|large_yellow_circle 🟡|large_orange_circle 🟠|red_circle 🔴|large_blue_circle 🔵|white_circle ⚪|black_circle ⚫
large_green_square 🟩|large_yellow_square 🟨|large_red_square 🟥|white_large_square ⬜|black_large_square ⬛
hourglass ⌛|hourglass_flowing_sand ⏳|stopwatch ⏱️|alarm_clock ⏰|clock1 🕐|clock3 🕒|watch ⌚|calendar 📅|date 📅|spiral_calendar_pad 🗓️
lock 🔒|unlock 🔓|closed_lock_with_key 🔐|key 🔑|shield 🛡️|mag 🔍|mag_right 🔎|link 🔗|paperclip 📎|pushpin 📌|round_pushpin 📍
memo 📝|pencil 📝|pencil2 ✏️|page_facing_up 📄|clipboard 📋|bookmark_tabs 📑|file_folder 📁|open_file_folder 📂|card_index_dividers 🗂️
wastebasket 🗑️|package 📦|inbox_tray 📥|outbox_tray 📤|email 📧|envelope ✉️|bell 🔔|no_bell 🔕|mega 📣|loudspeaker 📢|speech_balloon 💬
chart_with_upwards_trend 📈|chart_with_downwards_trend 📉|bar_chart 📊|moneybag 💰|money_with_wings 💸|credit_card 💳|receipt 🧾|shopping_trolley 🛒
gear ⚙️|wrench 🔧|hammer 🔨|hammer_and_wrench 🛠️|toolbox 🧰|nut_and_bolt 🔩|test_tube 🧪|microscope 🔬|computer 💻|desktop_computer 🖥️
file_cabinet 🗄️|floppy_disk 💾|cd 💿|satellite 🛰️|electric_plug 🔌|battery 🔋|whale 🐳|snake 🐍|bug 🐛|construction 🚧|traffic_light 🚦
arrow_right ➡️|arrow_left ⬅️|arrow_up ⬆️|arrow_down ⬇️|arrows_counterclockwise 🔄|repeat 🔁|fast_forward ⏩|rewind ⏪
black_right_pointing_triangle ▶️|arrow_forward ▶️|double_vertical_bar ⏸️|pause_button ⏸️|black_square_for_stop ⏹️|stop_button ⏹️
heavy_plus_sign ➕|heavy_minus_sign ➖|heavy_multiplication_x ✖️|small_blue_diamond 🔹|small_orange_diamond 🔸|diamond_shape_with_a_dot_inside 💠
bust_in_silhouette 👤|busts_in_silhouette 👥|office 🏢|house 🏠|earth_africa 🌍|earth_asia 🌏|sunny ☀️|cloud ☁️|umbrella ☔|snowflake ❄️|coffee ☕|beer 🍺
one 1️⃣|two 2️⃣|three 3️⃣|four 4️⃣|five 5️⃣|six 6️⃣|seven 7️⃣|eight 8️⃣|nine 9️⃣|keycap_ten 🔟|zero 0️⃣|new 🆕|free 🆓|ok 🆗|sos 🆘|cool 🆒
`;

const CODES = new Map(TABLE.trim().split(/[|\n]/).map((pair) => {
  const at = pair.indexOf(' ');
  return [pair.slice(0, at), pair.slice(at + 1)];
}));

/** QUICK are the reactions offered first. */
export const QUICK = ['white_check_mark', 'eyes', '+1', 'tada', 'heart', 'question'];

/** emojiChar gives the character for a short code (without colons), or null. */
export function emojiChar(code) {
  return CODES.get(code.replace(/::skin-tone-\d$/, '')) ?? null;
}

/** emojiFromUnicode gives the characters of rich text's hexadecimal form ("1f44d" or "1f1e9-1f1ea"), or null. */
export function emojiFromUnicode(hex) {
  if (!/^[0-9a-f]{2,6}(-[0-9a-f]{2,6})*$/i.test(hex ?? '')) return null;
  const points = hex.split('-').map((part) => parseInt(part, 16));
  return points.every((p) => p <= 0x10ffff) ? String.fromCodePoint(...points) : null;
}
