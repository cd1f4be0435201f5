// @ts-check
import { byId, input, notice, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { failureOf, session } from '../../../kit/page/browser/session.js'
import { askAgain } from './ask-again.js'
import { caseView } from './case.js'
import { lostChanges } from './lost-changes.js'
import { problemOf } from './messages.js'
import { modelsView } from './models.js'
import { caseQueue } from './queue.js'
import { rulesView } from './rules.js'

/** The parts of the desk, each with the scopes that give access to it. */
/** @type {Readonly<Record<string, string[]>>} */
const PARTS = { cases: ['fraud:analyst'], rules: ['fraud:ops'], models: ['fraud:ops'] }
/** @type {Readonly<Record<string, string>>} */
const PART_OF = { cases: 'cases', case: 'cases', transaction: 'cases', rules: 'rules', rule: 'rules', models: 'models' }

const complain = notice(part('problem'))
const lost = lostChanges()
const wiring = { onFailure: report, onSuccess: settle }
/**
 * The background requests that the shown message is about; undefined if it is about an action of the user.
 * @type {object | undefined}
 */
let concerned
const queue = caseQueue(background())
const cases = caseView({ ...wiring, onRecovered: lost.remove, onChanged: queue.refresh, onStep: queue.step })
const rules = rulesView({ ...wiring, background })
const models = modelsView(wiring)

/**
 * The user whose session has ended. What this user has entered stays on the page unless a different user signs in.
 * @type {string | undefined}
 */
let interrupted

function settle() {
  complain('')
}

/**
 * Returns the wiring of requests that the page sends on its own. If such a request succeeds, only a message about the
 * same requests disappears, but not a message about an action of the user.
 */
function background() {
  const requests = {}
  return {
    /** @param {unknown} error */
    onFailure(error) {
      report(error)
      concerned = requests
    },
    onSuccess() {
      if (concerned === requests) settle()
    },
  }
}

/**
 * @param {unknown} error
 * @param {string} [about] says what was lost, if the change was not sent, or its case is no longer open
 */
function report(error, about = '') {
  const failure = failureOf(error)
  if (failure.status === 401) {
    interrupted = session.current?.subject ?? interrupted
    session.forget()
    enter()
  }
  if (about !== '') lost.add(about, problemOf(failure))
  if (about !== '' && failure.status !== 401) return
  complain(problemOf(failure))
  concerned = undefined
}

/** Shows the part of the desk that the URL's fragment names, or the sign-in form. */
function enter() {
  const isSignedIn = session.current !== undefined
  part('sign-in').hidden = isSignedIn
  part('account').hidden = !isSignedIn
  part('tabs').hidden = !isSignedIn
  part('who').textContent = session.current?.username ?? session.current?.subject ?? ''
  const [kind = '', id = ''] = location.hash.slice(1).split('/').map(decoded)
  const open = Object.keys(PARTS).filter((name) => session.may(...PARTS[name]))
  const wanted = PART_OF[kind]
  const shown = wanted !== undefined && open.includes(wanted) ? wanted : open[0]
  for (const name of Object.keys(PARTS)) {
    part(name).hidden = name !== shown
    const tab = part(`tab-${name}`)
    tab.hidden = !open.includes(name)
    if (name === shown) tab.setAttribute('aria-current', 'page')
    else tab.removeAttribute('aria-current')
  }
  queue.show(shown === 'cases', kind === 'case' ? id : undefined)
  part('cases').classList.toggle('opened', kind === 'case' || kind === 'transaction')
  if (isSignedIn || interrupted === undefined) {
    cases.show(shown !== 'cases' ? undefined : kind === 'case' || kind === 'transaction' ? { kind, id } : undefined)
    rules.show(shown === 'rules', kind === 'rule' ? id : undefined)
    models.show(shown === 'models')
  }
  if (!isSignedIn) input('token').focus()
  else if (open.length === 0)
    complain('This token gives access to no part of the desk. Sign in with a token that has the scope fraud:analyst or fraud:ops.')
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function signIn() {
  try {
    await session.start(input('token').value.trim())
  } catch (error) {
    // Only a refused token is removed. After any other error, the user can send the same token again.
    if (failureOf(error).status === 401) input('token').value = ''
    throw error
  }
  input('token').value = ''
  if (session.current?.subject !== interrupted) closeAll()
  interrupted = undefined
  settle()
  enter()
  ;[...part('tabs').querySelectorAll('a')].find((tab) => tab.ariaCurrent === 'page')?.focus()
}

/** Closes everything, and forgets what the user has entered. */
function closeAll() {
  cases.forget()
  rules.forget()
  models.show(false)
  lost.clear()
}

/** Returns whether the user has entered something that the server has not accepted yet. */
function hasUnsaved() {
  return cases.hasUnsaved || rules.hasUnsaved
}

async function signOut() {
  await session.end()
  closeAll()
  settle()
  history.replaceState(null, '', location.pathname)
  enter()
}

onSubmit('sign-in', signIn, report)
onSubmit(
  'look-up',
  () => {
    const hash = `#transaction/${encodeURIComponent(input('transaction-id').value.trim())}`
    if (hash === location.hash) enter()
    else location.hash = hash
  },
  report,
)
byId('filters', HTMLFormElement).addEventListener('change', queue.filter)
part('account').append(askAgain('Sign out', 'Sign out and lose the unsaved changes?', () => signOut().catch(report), hasUnsaved))
addEventListener('hashchange', () => {
  settle()
  enter()
})
// If something is not saved, the browser asks the user for confirmation before it leaves the page.
addEventListener('beforeunload', (event) => {
  if (hasUnsaved()) event.preventDefault()
})
// A link to the open part does not change the fragment, so it causes no `hashchange`. A click on such a link
// repeats the reads that have failed.
document.addEventListener('click', ({ target }) => {
  const link = target instanceof Element ? target.closest('a') : null
  if (link !== null && link.hash !== '' && link.hash === location.hash) enter()
})
// Reads the session from the server, because the cookie may have expired, or the user may have signed in on another
// page.
session.read().then(enter, (error) => {
  enter()
  report(error)
})
