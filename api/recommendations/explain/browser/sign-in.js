// @ts-check
import { button, byId, input, notice, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { failureOf, session } from '../../../kit/page/browser/session.js'

const EXPLAIN = '/recommendations/explain'
const SCOPE = 'internal'
const complain = notice(part('problem'))

/** @param {unknown} error */
function report(error) {
  const { status, message } = failureOf(error)
  complain(status === 401 ? 'The server does not accept this token. Sign in with another token.' : message)
}

function show() {
  part('account').hidden = session.current === undefined
  // Shows a link to the explain page to users who are already signed in. Browsers do not send the cookie when a user
  // follows a link from another site, so the explain page may redirect even such users to this page.
  part('continue').hidden = session.current?.scopes.includes(SCOPE) !== true
  part('who').textContent = session.current?.username ?? session.current?.subject ?? ''
}

onSubmit(
  'sign-in',
  async () => {
    await session.start(input('token').value.trim())
    location.assign(byId('continue-link', HTMLAnchorElement).href)
  },
  report,
)
// The link keeps the query of this page's address, because the query selects the list to explain.
byId('continue-link', HTMLAnchorElement).href = EXPLAIN + location.search
button('sign-out').addEventListener('click', () => session.end().then(show, report))
session.read().then(show, report)
