// What the page does beyond being read: forms are sent without losing one's place or what one wrote, keys lead to search and save,
// and what changed elsewhere is read again. It takes HTML from this server alone and reads no attribute of what is remembered.

const main = document.getElementById('main');
/** The main part as the server sent it, to know whether another one says anything new. */
let sent = main.innerHTML;
/** What the server knew when it made what is shown. */
let mark = document.body.dataset.mark;
/** What is shown is the answer to a form, which no address has: it stays until the person has dealt with it. */
let isAnswer = false;
/** How often it was replaced. */
let times = 0;

async function read(url, init) {
  const answer = await fetch(url, { credentials: 'same-origin', ...init });
  const text = await answer.text();
  if (!/^text\/html/.test(answer.headers.get('content-type') ?? '')) {
    throw Object.assign(new Error(text), { isRefusal: true });
  }
  return { page: new DOMParser().parseFromString(text, 'text/html'), url: new URL(answer.url) };
}

/** Puts a page that was read in the place of this one: what a person opened stays open, and what they closed stays closed. */
function put({ page, url }) {
  const next = page.getElementById('main');
  // The visit is over.
  if (!next || page.body.classList.contains('enter')) return location.reload();
  const were = new Map([...main.querySelectorAll('details[id]')].map((each) => [each.id, each.open]));
  const focused = main.contains(document.activeElement) && document.activeElement.closest('details[id]')?.id;
  sent = next.innerHTML;
  mark = page.body.dataset.mark;
  times += 1;
  isAnswer = url.pathname.startsWith('/do/');
  main.replaceChildren(...next.childNodes);
  for (const each of main.querySelectorAll('details[id]')) each.open = were.get(each.id) ?? each.open;
  if (focused) document.getElementById(focused)?.querySelector('summary').focus({ preventScroll: true });
  document.querySelector('header.top nav').replaceWith(page.querySelector('header.top nav'));
  document.title = page.title;
  const said = page.querySelector('#said .toast');
  if (said) document.getElementById('said').replaceChildren(said);
}

function trouble(error) {
  const said = document.createElement('p');
  said.className = 'problem';
  said.setAttribute('role', 'alert');
  const words = error.message.trim();
  said.textContent = error.isRefusal ? words || 'nocturne refused that.' : `That did not reach nocturne: ${words}`;
  main.prepend(said);
  said.scrollIntoView({ block: 'nearest' });
}

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (form.method !== 'post' || form.id === 'enter') return;
  event.preventDefault();
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await read(form.getAttribute('action'), { method: 'POST', body });
    put(answer);
    if (isAnswer) return;
    // What was just said of it is said once.
    answer.url.searchParams.delete('said');
    history.replaceState(null, '', answer.url);
  } catch (error) {
    trouble(error);
  }
});

const keys = document.getElementById('keys');
document.getElementById('show-keys')?.addEventListener('click', () => keys.showModal());

document.addEventListener('keydown', (event) => {
  const isControl = event.ctrlKey || event.metaKey;
  const isTyping = event.target.matches?.('input, textarea, select');
  if (isControl && event.key === 'Enter' && event.target.form) return event.target.form.requestSubmit();
  if (!keys || keys.open) return;
  if (isControl ? event.key === 'k' : event.key === '/' && !isTyping) {
    event.preventDefault();
    document.getElementById('q').select();
  } else if (event.key === '?' && !isTyping) keys.showModal();
});

/** Whether something was written that is nowhere else. */
function isUnsaved() {
  return isAnswer || [...main.querySelectorAll('textarea')].some((each) => each.value !== each.defaultValue);
}

addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});

/** What changed meanwhile; but what someone writes, and the answer to a form, stays. */
async function readAgain() {
  const before = times;
  const answer = await read(location.href);
  const isWriting = main.contains(document.activeElement) && document.activeElement.matches('textarea, input, select');
  // The person went on meanwhile.
  if (times !== before || isWriting || isUnsaved()) return;
  if (answer.page.getElementById('main')?.innerHTML !== sent) put(answer);
  else mark = answer.page.body.dataset.mark;
}

/** Asks every second whether anything changed while the page is seen, and says so where nocturne does not answer. */
async function watch() {
  for (let misses = 0; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if (document.hidden) continue;
    try {
      const answer = await fetch('/live', { credentials: 'same-origin' });
      misses = 0;
      // Turned away: the visit is over, which the page itself says.
      if (answer.status === 401 || (answer.ok && (await answer.text()).trim() !== mark)) await readAgain();
    } catch {
      misses += 1;
    }
    document.getElementById('gone').hidden = misses < 4;
  }
}

// A line that is edited is where one writes at once.
main.querySelector('.line textarea')?.focus();

const entering = document.getElementById('enter');
if (!entering) void watch();
else if (location.hash) {
  entering.elements.ticket.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  entering.requestSubmit();
}
