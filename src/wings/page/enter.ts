// The page that a browser sees before its visit has begun: nothing of a memory is in it. It brings the ticket that stands
// behind the # of the address, which no server is sent; where no scripts run, the ticket is typed.

import { html } from 'hono/html';
import { type Html, head } from './shell.ts';

export function enterPage({ wasWrong = false } = {}): Html {
  return html`<!doctype html>
<html lang="en">
${head('Open')}
<body class="enter">
<main id="main">
<p class="brand"><svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true"><path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/></svg>nocturne</p>
<h1>${wasWrong ? 'That key is used up' : 'Open your memory'}</h1>
<p>${wasWrong ? 'A key opens the page once, within a minute.' : 'This page is for you alone.'} In a terminal on this machine, run</p>
<pre><code>nocturne open</code></pre>
<p>and follow the address it prints, or type what stands behind its <code>#</code> here:</p>
<form method="post" action="/enter" id="enter">
<label for="ticket">Key</label>
<input id="ticket" name="ticket" autocomplete="off" spellcheck="false" required>
<button class="primary">Open</button>
</form>
</main>
</body>
</html>`;
}
