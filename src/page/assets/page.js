// What the page does beyond being read: forms are sent without losing one's place or what one wrote, and keys lead to search and save.
// It takes HTML from this server alone and reads no attribute of what is remembered.

const main = document.getElementById('main');
/** What is shown is the answer to a form, which no address has: it stays until the person has dealt with it. */
let isAnswer = false;

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

// A line that is edited is where one writes at once.
main.querySelector('.line textarea')?.focus();

const entering = document.getElementById('enter');
if (entering && location.hash) {
  entering.elements.ticket.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  entering.requestSubmit();
}
