// @ts-check
import { button, input, notice, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { failureOf, session } from '../../../kit/page/browser/session.js'

const EXPLAIN = '/recommendations/explain'
const complain = notice(part('problem'))

/** @param {unknown} error */
function report(error) {
  const { status, message } = failureOf(error)
  complain(status === 401 ? 'The server does not accept this token.' : message)
}

function show() {
  part('account').hidden = session.current === undefined
  part('who').textContent = session.current?.username ?? session.current?.subject ?? ''
}

onSubmit(
  'sign-in',
  async () => {
    await session.start(input('token').value.trim())
    // The query of the address names the list that the page should explain.
    location.assign(EXPLAIN + location.search)
  },
  report,
)
button('sign-out').addEventListener('click', () => session.end().then(show, report))
session.read().then(show, report)
