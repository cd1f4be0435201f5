// @ts-check
/** @import { Case } from './queue.js' */
/** @import { Verdict } from './verdict.js' */
import { byId, isolated, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { DEFAULT_RETRY_S, RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask, session } from '../../../kit/page/browser/session.js'
import { drawFacts, drawHead } from './case-file.js'
import { drawReasons } from './factors.js'
import { ownChanges } from './own-changes.js'
import { drawPlaces } from './places.js'
import { drawTimeline } from './timeline.js'
import { verdicts } from './verdict.js'

/** The user's transactions are shown up to a day after the open transaction. */
const DAY_MS = 86_400_000

const NOTES_SAVED = 'The notes are saved.'

/**
 * The known data about a transaction. If the transaction of a case, the profile or the other transactions cannot be
 * read, the rest is shown anyway.
 * @typedef {object} Dossier
 * @property {Case | undefined} found the open case; undefined if a transaction was opened instead of a case
 * @property {string} [caseId] the id of the case of an opened transaction, if the page knows it
 * @property {any} transaction
 * @property {any} profile of the user
 * @property {any[] | null} [others] other transactions of the user, newest first; null if they cannot be read, and
 * undefined until they are read
 */

/**
 * Shows one case, or one transaction without its case.
 * @param {object} wiring
 * @param {(error: unknown, about?: string) => void} wiring.onFailure
 * @param {() => void} wiring.onSuccess
 * @param {(about: string) => void} wiring.onRecovered called when the server has accepted a verdict or a change, so that
 * a message about an earlier failure can be removed
 * @param {() => void} wiring.onChanged called after the server has accepted a change
 * @param {(by: number) => void} wiring.onStep opens the next case in the queue (1) or the previous one (-1)
 */
export function caseView({ onFailure, onSuccess, onRecovered, onChanged, onStep }) {
  /** @type {Dossier | undefined} */
  let open
  /** Counts the cases and transactions that were opened, so that a late answer never appears under a different case. */
  let opened = 0
  let shownAs = ''
  const notesField = byId('notes', HTMLTextAreaElement)
  /** The notes of the open case as the server last sent them. */
  let savedNotes = ''
  /**
   * Notes that were not saved when another case was opened, keyed by the id of their case. `base` is the newest saved
   * text of the notes that the analyst has seen.
   * @type {Map<string, { notes: string, base: string }>}
   */
  const drafts = new Map()
  /**
   * Resolves when the last requested change has been answered or has failed.
   * @type {Promise<unknown>}
   */
  let sending = Promise.resolve()
  /** Counts the calls of `forget`, so that no change is sent in the session of another user. */
  let forgotten = 0
  /** Number of changes that have not been answered. */
  let pending = 0
  const own = ownChanges()
  const verdict = verdicts({ onFailure, onRecovered, onRecorded, onGiven, onOutdated, inTurn, own })

  /** @param {{ kind: string, id: string }} wanted */
  async function load({ kind, id }) {
    const turn = ++opened
    try {
      const { dossier, others } = await read(kind, id)
      void addOthers(turn, others)
      if (turn !== opened) return
      onSuccess()
      draw(dossier)
      part('case').focus({ preventScroll: true })
    } catch (error) {
      if (turn !== opened) return
      // The next call of `show` must read the data again.
      shownAs = ''
      onFailure(error)
    }
  }

  /** Reads the open case or transaction again, for example after a verdict. */
  async function reload() {
    if (open === undefined) return
    const turn = opened
    const { found, transaction, caseId = found?.case_id } = open
    const { dossier, others } = await (caseId === undefined ? read('transaction', transaction.transaction_id) : read('case', caseId))
    void addOthers(turn, others)
    if (turn === opened && !isOlder(dossier, open)) draw({ ...dossier, others: open.others })
  }

  /**
   * Adds the user's other transactions to the open case. The page does not wait for them before it shows the case,
   * because ClickHouse may hang, and the case can be judged without them.
   * @param {number} turn
   * @param {Promise<any[] | null>} reading
   */
  async function addOthers(turn, reading) {
    const others = await reading.catch((error) => {
      if (turn === opened) onFailure(error)
      return null
    })
    if (turn !== opened || open === undefined) return
    // If this reading has failed, the transactions of an earlier reading stay.
    open = { ...open, others: others ?? open.others ?? null }
    drawPlaces(part('places'), open)
    drawTimeline(part('timeline'), open)
  }

  /** @param {Dossier} dossier */
  function draw(dossier) {
    // After a verdict on an open transaction, `reload` opens its case without a call of `show`.
    const isNew = open?.found === undefined
    open = dossier
    const { found, transaction } = dossier
    part('no-case').hidden = true
    part('case-body').hidden = false
    drawHead(dossier, assign)
    verdict.open({
      transactionId: found?.transaction_id ?? transaction.transaction_id,
      verdict: found?.verdict ?? transaction?.feedback?.verdict ?? null,
      giver: found?.history?.findLast(({ verdict: given }) => given !== null)?.actor,
      ...(found !== undefined && { version: found.version }),
    })
    drawReasons(part('why'), transaction?.answer, found)
    drawPlaces(part('places'), dossier)
    drawTimeline(part('timeline'), dossier)
    drawFacts(dossier)
    part('case-notes').hidden = found === undefined
    drawNotes(found, isNew)
  }

  /**
   * Shows the notes of the case, or the notes that the analyst has not saved yet.
   * @param {Case | undefined} found
   * @param {boolean} isNew whether the case was opened just now
   */
  function drawNotes(found, isNew) {
    // The field converts all line ends to \n. The saved notes are converted as well, so that the two can be compared.
    const saved = (found?.notes ?? '').replace(/\r\n?/g, '\n')
    const draft = isNew ? drafts.get(found?.case_id ?? '') : draftOfField()
    if (found !== undefined) drafts.delete(found.case_id)
    savedNotes = saved
    notesField.value = draft?.notes ?? saved
    if (draft === undefined || draft.notes === saved) return
    const isReplaced = draft.base !== saved
    if (!isNew && !isReplaced) return
    const others = isReplaced ? [' In the meantime, the notes of the case have changed to: ', isolated(saved || '(none)')] : []
    part('notes-news').replaceChildren('These notes are not saved yet.', ...others)
  }

  /** Returns the notes in the field; undefined if they are saved. */
  function draftOfField() {
    const isUnsaved = open?.found !== undefined && notesField.value !== savedNotes
    return isUnsaved ? { notes: notesField.value, base: savedNotes } : undefined
  }

  /** Closes the case. Notes that are not saved yet appear again when the analyst opens the case again. */
  function close() {
    const draft = draftOfField()
    if (open?.found !== undefined && draft !== undefined) drafts.set(open.found.case_id, draft)
    opened++
    open = undefined
    verdict.close()
    part('notes-news').textContent = ''
  }

  /**
   * Assigns the case, unless somebody else has changed it since this page read it. Without this condition, one analyst
   * could take a case from another without noticing, or take back an escalation.
   * @param {string | null} assignee
   */
  async function assign(assignee) {
    await change(lostAssignment, (status) => {
      // An analyst who takes an OPEN case begins to work on it, so its status changes as well.
      const begins = assignee !== null && status === 'OPEN'
      return { assigned_to: assignee, ...(begins && { status: 'IN_REVIEW' }) }
    })
  }

  /**
   * Changes the case, unless somebody else has changed it since this page read it. Changes are sent one at a time, so
   * that each change can name the version that the previous change created.
   * @param {(found: Case | undefined) => string} lostOf says that the change was not saved
   * @param {(status: string) => object} fieldsOf returns the fields to change, given the status of the case
   * @param {(caseId: string) => void} [onDone] called after the change, even if another case is open by then
   */
  function change(lostOf, fieldsOf, onDone = () => {}) {
    const turn = opened
    const asked = open
    const lost = lostOf(asked?.found)
    return inTurn(() => send(turn, asked, lost, fieldsOf, onDone)).catch((error) => onFailure(error, lost))
  }

  /**
   * Does some work after all changes that were requested earlier have been answered.
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  function inTurn(work) {
    const asked = forgotten
    const user = session.current?.subject
    const done = sending.then(() => {
      // If there is no session at the moment, nobody else has signed in yet.
      const isSame = session.current === undefined || session.current.subject === user
      if (asked !== forgotten || !isSame) throw notSent()
      return work()
    })
    pending++
    sending = done.then(settle, settle)
    return done
  }

  function settle() {
    pending--
  }

  /**
   * @param {number} turn
   * @param {Dossier | undefined} asked the case that was open when the change was requested
   * @param {string} lost says that the change was not saved
   * @param {(status: string) => object} fieldsOf
   * @param {(caseId: string) => void} onDone
   */
  async function send(turn, asked, lost, fieldsOf, onDone) {
    const found = asked?.found
    if (found === undefined) return
    const { version, status = found.status } = own.after(found.transaction_id, found.version)
    try {
      const changed = await ask('PATCH', casePath(found.case_id), { ...fieldsOf(status), version })
      own.add(found.transaction_id, changed)
      onRecovered(lost)
      onDone(found.case_id)
      // The ids are compared instead of the turns, because the analyst may have left the case and opened it again.
      if (open?.found?.case_id !== found.case_id) return
      onSuccess()
      if (changed.version > open.found.version) draw({ ...open, found: { ...open.found, ...changed } })
      onChanged()
      void readHistory(found.case_id).catch(onFailure)
    } catch (error) {
      onFailure(error, turn === opened ? '' : lost)
      if (error instanceof RequestFailed && error.failure.code === 'version_conflict') await onOutdated(turn)
    }
  }

  /**
   * Reads the history of the open case, which the answers to changes do not contain.
   * @param {string} caseId
   */
  async function readHistory(caseId) {
    const found = await ask('GET', casePath(caseId))
    if (open?.found?.case_id === caseId && found.version >= open.found.version) draw({ ...open, found })
  }

  /**
   * Shows the changes that somebody else has made.
   * @param {number} [turn] the value of `opened` for the case that is out of date
   */
  async function onOutdated(turn = opened) {
    onChanged()
    if (turn === opened) await reload().catch(onFailure)
  }

  /**
   * Applies a recorded verdict to the open case at once, because reading the case again may take long or fail. If a
   * transaction is open instead of a case, the next `reload` opens its case. The transaction itself would not show the
   * verdict for some seconds, because its feedback comes from ClickHouse.
   * @param {string} transactionId
   * @param {Verdict} given
   * @param {{ case_id: string, version: number }} recorded
   */
  function onRecorded(transactionId, given, { case_id: caseId, version }) {
    const status = given === 'SUSPICIOUS' ? 'ESCALATED' : given
    own.add(transactionId, { version, status })
    if (open === undefined) return
    const { found, transaction } = open
    if (found === undefined && transaction.transaction_id === transactionId) open = { ...open, caseId }
    if (found?.transaction_id !== transactionId || found.version > version) return
    open = { ...open, found: { ...found, verdict: given, status, version } }
  }

  async function onGiven() {
    onSuccess()
    onChanged()
    await reload().catch(onFailure)
  }

  onSubmit(
    'case-notes',
    () => {
      const notes = notesField.value
      part('notes-news').textContent = ''
      // The form does not wait for the answer, because the analyst may save the notes of the next case before it arrives.
      void change(
        lostNotes,
        () => ({ notes }),
        (caseId) => {
          const draft = drafts.get(caseId)
          if (draft?.notes === notes) drafts.delete(caseId)
          else if (draft !== undefined) drafts.set(caseId, { ...draft, base: notes })
          if (open?.found?.case_id !== caseId) return
          savedNotes = notes
          part('notes-news').textContent = NOTES_SAVED
        },
      )
    },
    onFailure,
  )
  notesField.addEventListener('input', () => {
    if (part('notes-news').textContent === NOTES_SAVED) part('notes-news').textContent = ''
  })
  document.addEventListener('keydown', (event) => {
    if (part('cases').hidden || event.ctrlKey || event.altKey || event.metaKey || isTyping(event)) return
    const key = event.key.toLowerCase()
    if (key === 'j' || key === 'k') onStep(key === 'j' ? 1 : -1)
    else if (open === undefined || !verdict.press(key)) return
    event.preventDefault()
  })

  return {
    /** @param {{ kind: string, id: string } | undefined} wanted what to show; undefined closes the open case */
    show(wanted) {
      const name = wanted === undefined ? '' : `${wanted.kind}/${wanted.id}`
      if (name === shownAs) return
      shownAs = name
      close()
      part('case-body').hidden = true
      part('no-case').hidden = wanted !== undefined
      if (wanted !== undefined) void load(wanted)
    },
    get hasUnsaved() {
      return pending > 0 || drafts.size > 0 || draftOfField() !== undefined
    },
    /** Closes the open case and forgets all notes that are not saved yet. */
    forget() {
      this.show(undefined)
      drafts.clear()
      own.clear()
      forgotten++
    },
  }
}

/**
 * @param {string} kind
 * @param {string} id
 * @returns {Promise<{ dossier: Dossier, others: Promise<any[] | null> }>} `others` become part of the dossier later
 */
async function read(kind, id) {
  const found = kind === 'case' ? await ask('GET', casePath(id)) : undefined
  const transactionId = found?.transaction_id ?? id
  const request = ask('GET', `/api/v1/transactions/${encodeURIComponent(transactionId)}`)
  // A case is kept longer than its transaction, and analysts can judge the case without the transaction.
  const transaction = found === undefined ? await request : await request.catch(ignoreMissing)
  const userId = found?.user_id ?? transaction.request.payer.user_id
  const to = new Date(new Date(transaction?.request.timestamp ?? found.created_at).getTime() + DAY_MS)
  const query = new URLSearchParams({ user_id: userId, to: to.toISOString() })
  const others = readOthers(query, transactionId)
  // If the profile cannot be read either, nobody awaits this promise.
  others.catch(() => undefined)
  const profile = await ask('GET', `/api/v1/profiles/user/${encodeURIComponent(userId)}`).catch(ignoreMissing)
  return { dossier: { found, transaction, profile }, others }
}

/**
 * @param {URLSearchParams} query
 * @param {string} transactionId the transaction to leave out
 * @returns {Promise<any[] | null>} null if the transactions are unavailable
 */
async function readOthers(query, transactionId) {
  const listed = await ask('GET', `/api/v1/transactions?${query}`).catch(ignoreMissing)
  return listed?.transactions.filter((/** @type {any} */ one) => one.transaction_id !== transactionId) ?? null
}

/**
 * Returns whether a dossier shows the case as it was before a change that the page already shows.
 * @param {Dossier} dossier
 * @param {Dossier | undefined} shown
 */
function isOlder({ found }, shown) {
  return found !== undefined && shown?.found !== undefined && found.version < shown.found.version
}

/** @param {unknown} error */
function ignoreMissing(error) {
  if (error instanceof RequestFailed && [0, 404, 422, 503].includes(error.failure.status)) return undefined
  throw error
}

/** @param {Case | undefined} found */
const lostAssignment = (found) => `The assignment of the case of transaction ${found?.transaction_id} was not saved. `

/** @param {Case | undefined} found */
const lostNotes = (found) => `The notes on the case of transaction ${found?.transaction_id} were not saved. `

function notSent() {
  const message = 'The session of the user who made the change ended before the change was sent.'
  return new RequestFailed({ status: 0, code: '', message, details: [], retryAfterS: DEFAULT_RETRY_S, requestId: '' })
}

/** @param {string} id */
const casePath = (id) => `/api/v1/cases/${encodeURIComponent(id)}`

/** @param {KeyboardEvent} event */
function isTyping({ target }) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}
