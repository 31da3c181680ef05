// What the page does beyond being read: forms are sent and links within a view followed without losing one's place, search
// answers as one types, keys do what buttons do, and what changed elsewhere is read again. It takes HTML from this server alone and
// reads no attribute of what is remembered.

const main = document.getElementById('main');
const live = document.getElementById('live');
/** The main part as the server sent it, to know whether another one says anything new. */
let sent = main.innerHTML;
/** What is shown is the answer to a form, which no address has: it stays until the person has dealt with it. */
let isAnswer = false;
/** How often it was replaced. */
let times = 0;
/** What the server knew when it made what is shown. */
let mark = document.body.dataset.mark;
let shownPath = location.pathname;

async function read(url, init) {
  const answer = await fetch(url, { credentials: 'same-origin', ...init });
  const text = await answer.text();
  if (!/^text\/html/.test(answer.headers.get('content-type') ?? '')) {
    throw Object.assign(new Error(text), { isRefusal: true });
  }
  return { page: new DOMParser().parseFromString(text, 'text/html'), url: answer.url };
}

/** Puts a page that was read in the place of this one. */
function put({ page, url }, { isNew = true } = {}) {
  const next = page.getElementById('main');
  // The visit is over.
  if (!next || page.body.classList.contains('enter')) return location.reload();
  const focused = document.activeElement;
  const at = focused?.id ? { id: focused.id, from: focused.selectionStart } : null;
  const shown = next.innerHTML;
  // Where the same is read again, what a person opened stays open, and what they closed stays closed.
  const isSame = new URL(url).pathname === shownPath;
  const were = new Map([...main.querySelectorAll('details[id]')].map((each) => [each.id, each.open]));
  main.replaceChildren(...next.childNodes);
  for (const each of isSame ? main.querySelectorAll('details[id]') : []) {
    if (were.get(each.id) || !isNew) each.open = were.get(each.id) ?? each.open;
  }
  shownPath = new URL(url).pathname;
  sent = shown;
  mark = page.body.dataset.mark;
  times += 1;
  isAnswer = new URL(url).pathname.startsWith('/do/');
  const said = page.querySelector('.toast');
  if (said) say(said);
  document.title = page.title;
  const nav = page.querySelector('header.top nav');
  if (nav) document.querySelector('header.top nav').replaceWith(nav);
  if (isNew) history.pushState(null, '', url);
  live.hidden = true;
  const again = at && document.getElementById(at.id);
  if (again && again !== focused) {
    again.focus({ preventScroll: true });
    if (typeof at.from === 'number' && again.setSelectionRange) again.setSelectionRange(at.from, at.from);
  }
  ready();
}

/** The word of what was just done stays while the page below it is read again. */
function say(toast) {
  document.getElementById('said').replaceChildren(toast);
  setTimeout(function drop() {
    if (toast.matches(':hover, :focus-within')) setTimeout(drop, 2_000);
    else toast.remove();
  }, 12_000);
}

function trouble(error) {
  const said = document.createElement('p');
  said.className = 'problem';
  said.setAttribute('role', 'alert');
  const words = error.message.trim();
  said.textContent = error.isRefusal ? words || 'nocturne refused that.' : `That did not reach nocturne: ${words}`;
  main.prepend(said);
}

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (form.method !== 'post' && !form.classList.contains('search')) return;
  if (form.method !== 'post' && isUnsaved()) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form));
  try {
    if (form.method !== 'post') return await search(`/search?${fields}`);
    const answer = await read(form.getAttribute('action'), { method: 'POST', body: fields });
    if (form.id === 'enter') {
      if (!answer.page.body.classList.contains('enter')) return location.replace('/');
      return main.replaceChildren(...answer.page.getElementById('main').childNodes);
    }
    put(answer, { isNew: !new URL(answer.url).pathname.startsWith('/do/') });
    // What was just said of it is said once.
    const url = new URL(location.href);
    url.searchParams.delete('said');
    history.replaceState(null, '', url);
  } catch (error) {
    trouble(error);
  }
});

document.addEventListener('click', async (event) => {
  const link = event.target.closest?.('a.swap');
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (isUnsaved() && !link.closest('form')) return;
  event.preventDefault();
  try {
    put(await read(link.href));
    const id = decodeURIComponent(new URL(link.href).hash.slice(1));
    const line = document.getElementById(id);
    (line?.querySelector('textarea, summary') ?? main).focus({ preventScroll: true });
  } catch (error) {
    trouble(error);
  }
});

addEventListener('popstate', async () => {
  try {
    put(await read(location.href), { isNew: false });
  } catch {
    location.reload();
  }
});

/** Search as one types, wherever one is: the last question asked is the one that is answered. */
let asked = 0;
document.addEventListener('input', (event) => {
  if (event.target.id !== 'q' || isUnsaved()) return;
  asked += 1;
  const mine = asked;
  setTimeout(() => {
    if (mine === asked) void search(`/search?${new URLSearchParams({ q: event.target.value })}`, mine).catch(() => {});
  }, 120);
});

async function search(url, mine = asked) {
  const answer = await read(url);
  if (mine !== asked) return;
  const isNew = location.pathname !== '/search';
  put(answer, { isNew });
  if (!isNew) history.replaceState(null, '', url);
}

const keys = document.getElementById('keys');
document.getElementById('show-keys')?.addEventListener('click', () => keys.showModal());

document.addEventListener('keydown', (event) => {
  const isControl = event.ctrlKey || event.metaKey;
  if (isControl && event.key === 'Enter' && event.target.matches('textarea')) return event.target.form.requestSubmit();
  const isSearch = isControl ? event.key === 'k' : event.key === '/' && !isTyping(event);
  const field = document.getElementById('q');
  if (isSearch && field && !keys.open) {
    event.preventDefault();
    return field.select();
  }
  const menu = document.querySelector('.switch[open]');
  if (event.key === 'Escape' && menu) {
    menu.open = false;
    return menu.querySelector('summary').focus();
  }
  if (isTyping(event) || isControl || event.altKey || !keys || keys.open) return;
  if (event.key === '?') return keys.showModal();
  const list = [...main.querySelectorAll('.proposal')];
  if (list.length === 0) return;
  const current = list.findIndex((each) => each.classList.contains('current'));
  if (event.key === 'j' || event.key === 'k') {
    choose(list, Math.min(list.length - 1, Math.max(0, current + (event.key === 'j' ? 1 : -1))));
    event.preventDefault();
  }
  const card = list[Math.max(0, current)];
  if (event.key === 'a') card.querySelector('form.accept button')?.click();
  if (event.key === 'r') card.querySelector('form.reject button')?.click();
  if (event.key === 'e') {
    const words = card.querySelector('details.words');
    if (words) words.open = true;
    words?.querySelector('textarea')?.focus();
    event.preventDefault();
  }
});

/** The list of memories closes where one goes on elsewhere. */
document.addEventListener('focusin', ({ target }) => {
  const menu = document.querySelector('.switch[open]');
  if (menu && !menu.contains(target)) menu.open = false;
});

function isTyping({ target }) {
  return target.matches?.('input, textarea, select');
}

function choose(list, at) {
  for (const each of list) each.classList.remove('current');
  list[at].classList.add('current');
  list[at].focus({ preventScroll: true });
  list[at].scrollIntoView({ block: 'nearest' });
}

/** After every change of the main part. */
function ready() {
  main.querySelector('.proposal')?.classList.add('current');
}

/** Whether something was written that is nowhere else. */
function isUnsaved() {
  return [...main.querySelectorAll('textarea')].some((each) => isAnswer || each.value !== each.defaultValue);
}

addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});

/** Whether someone is in the middle of writing. */
function isWriting() {
  return (
    isUnsaved() || (main.contains(document.activeElement) && document.activeElement.matches('textarea, input, select'))
  );
}

/** What changed meanwhile; but what someone writes, and the answer to a form, stays. */
async function readAgain() {
  if (isAnswer) return;
  const before = times;
  const answer = await read(location.href);
  // The person went on meanwhile.
  if (times !== before) return;
  const next = answer.page.getElementById('main')?.innerHTML;
  if (next !== sent && !isWriting()) return put(answer, { isNew: false });
  mark = answer.page.body.dataset.mark;
  live.hidden = next === sent;
}

document
  .getElementById('reload')
  ?.addEventListener('click', async () => put(await read(location.href), { isNew: false }));

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

const entering = document.getElementById('enter');
if (entering) {
  const ticket = location.hash.slice(1);
  if (ticket) {
    history.replaceState(null, '', location.pathname);
    entering.elements.ticket.value = ticket;
    entering.requestSubmit();
  }
} else {
  ready();
  void watch();
}
