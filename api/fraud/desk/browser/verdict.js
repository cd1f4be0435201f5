// @ts-check
/** @import { ownChanges } from './own-changes.js' */
import { button, byId, ignoreHeldEnter, input, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask, session } from '../../../kit/page/browser/session.js'
import { words } from './text.js'

/** @typedef {'CONFIRMED_FRAUD' | 'FALSE_POSITIVE' | 'SUSPICIOUS'} Verdict */

/**
 * The transaction that is open, and its newest known verdict.
 * @typedef {object} Target
 * @property {string} transactionId
 * @property {Verdict | null} verdict
 * @property {string | null} [giver] who gave the verdict; undefined if this is not known
 * @property {number} [version] the version of the case; undefined if the page shows a transaction without its case
 */

/**
 * The case for which a verdict was recorded, and the first version of the case that contains the verdict.
 * @typedef {{ case_id: string, version: number }} Recorded
 */

/** @type {Readonly<Record<string, { verdict: Verdict, id: string, question: string }>>} */
const BY_KEY = {
  f: { verdict: 'CONFIRMED_FRAUD', id: 'fraud', question: 'Confirm that this is fraud?' },
  p: { verdict: 'FALSE_POSITIVE', id: 'false-positive', question: 'Confirm that this is a false positive?' },
  s: { verdict: 'SUSPICIOUS', id: 'suspicious', question: 'Escalate this as suspicious?' },
}

/**
 * Returns the verdict that undoes the newest verdict. If the transaction had no verdict before, returns SUSPICIOUS,
 * which gives the case back to the analysts without labelling the transaction.
 * @param {Verdict | null} before the verdict before the newest one
 * @returns {Verdict}
 */
const undoneTo = (before) => before ?? 'SUSPICIOUS'

/**
 * Lets analysts give verdicts by key or button. The analyst confirms each verdict before the page sends it. A verdict
 * cannot be deleted, because its events are already published. Undoing a verdict therefore sends a correction. Verdicts
 * name the version of the case that the analyst has seen, so that they do not replace verdicts of other analysts.
 * @param {object} wiring
 * @param {(error: unknown, about?: string) => void} wiring.onFailure
 * @param {(about: string) => void} wiring.onRecovered called when a verdict has been recorded, so that a message about
 * an earlier failure can be removed
 * @param {(transactionId: string, verdict: Verdict, recorded: Recorded) => void} wiring.onRecorded called when the server
 * has recorded a verdict, before later changes are sent
 * @param {() => void} wiring.onGiven
 * @param {() => void} wiring.onOutdated called if somebody else has changed the case
 * @param {<T>(work: () => Promise<T>) => Promise<T>} wiring.inTurn does the work after earlier changes of the case have
 * been answered
 * @param {ReturnType<typeof ownChanges>} wiring.own
 */
export function verdicts({ onFailure, onRecovered, onRecorded, onGiven, onOutdated, inTurn, own }) {
  /** @type {Target | undefined} */
  let target
  /** The verdict that the analyst has chosen but not confirmed yet. */
  /** @type {Verdict | undefined} */
  let asked
  /** The verdict that `undo` corrects; undefined if there is none. */
  /** @type {{ transactionId: string, given: Verdict, before: Verdict | null, version: number } | undefined} */
  let last
  /** Ids of the transactions for which a verdict has been sent, but not answered yet. */
  const sending = new Set()

  /** @param {string} key */
  function choose(key) {
    if (target === undefined) return
    if (sending.has(target.transactionId)) return tellThatItIsSent()
    const { verdict, question } = BY_KEY[key]
    asked = verdict
    part('confirm').hidden = false
    part('confirm-question').textContent = question
    part('fraud-type-field').hidden = verdict !== 'CONFIRMED_FRAUD'
    part('verdict-news').textContent = ''
    press(key)
    if (requireReason()) input('verdict-notes').focus()
    else button('confirm-verdict').focus()
  }

  /**
   * Requires notes if the chosen verdict is a correction, because others may have acted on the first verdict.
   * @returns {boolean} whether the chosen verdict is a correction
   */
  function requireReason() {
    const isCorrection = target !== undefined && target.verdict !== null && target.verdict !== asked
    input('verdict-notes').required = isCorrection
    part('notes-need').textContent = isCorrection ? '(a correction needs a reason)' : '(optional)'
    return isCorrection
  }

  /** @param {string} [key] key of the button that appears pressed */
  function press(key) {
    for (const [one, { id }] of Object.entries(BY_KEY)) button(id).setAttribute('aria-pressed', String(one === key))
  }

  function cancel() {
    asked = undefined
    part('confirm').hidden = true
    for (const id of ['fraud-type', 'verdict-notes']) input(id).value = ''
    press(Object.keys(BY_KEY).find((key) => BY_KEY[key].verdict === target?.verdict))
  }

  async function confirm() {
    if (target === undefined || asked === undefined) return
    const fraudType = asked === 'CONFIRMED_FRAUD' ? input('fraud-type').value.trim() : ''
    const notes = input('verdict-notes').value.trim()
    const seen = target
    const given = asked
    const { transactionId, verdict: before } = seen
    const body = { verdict: given, ...(fraudType && { fraud_type: fraudType }), ...(notes && { notes }) }
    const recorded = await send(transactionId, given, () => ({ ...body, version: versionAfter(transactionId, seen.version) }))
    if (recorded === undefined) return
    if (target?.transactionId === transactionId) {
      // Undoing is not offered if it would send the same verdict again, because this correction would change nothing.
      const mayUndo = given !== undoneTo(before)
      last = mayUndo ? { transactionId, given, before, version: recorded.version } : undefined
      say(`Recorded as ${words(given)}.`, mayUndo)
    }
    onGiven()
  }

  /**
   * Returns the version that a verdict names: the version that the analyst has seen, or the newer version that changes
   * of this page have created since.
   * @param {string} transactionId
   * @param {number | undefined} seen
   */
  function versionAfter(transactionId, seen) {
    return seen === undefined ? undefined : own.after(transactionId, seen).version
  }

  async function undo() {
    if (last === undefined || target?.transactionId !== last.transactionId) return
    const undone = last
    const { transactionId, given, before } = undone
    const verdict = undoneTo(before)
    const notes = `Correction: ${words(given)} was given by mistake.`
    const bodyOf = () => ({ verdict, notes, version: versionAfter(transactionId, undone.version) })
    if ((await send(transactionId, verdict, bodyOf)) === undefined) return
    if (last === undone) last = undefined
    if (target?.transactionId === transactionId) {
      say(`Corrected: the verdict is now ${words(verdict)}.`, false)
    }
    onGiven()
  }

  /**
   * @param {string} transactionId
   * @param {Verdict} verdict
   * @param {() => object} bodyOf returns the body. It is called when all earlier changes of the case have been answered.
   * @returns {Promise<Recorded | undefined>} undefined if the server has not recorded the verdict
   */
  async function send(transactionId, verdict, bodyOf) {
    if (sending.has(transactionId)) return undefined
    sending.add(transactionId)
    tellThatItIsSent()
    const path = `/api/v1/transactions/${encodeURIComponent(transactionId)}/feedback`
    const lost = `The verdict on transaction ${transactionId} was not recorded. `
    try {
      const recorded = await inTurn(async () => {
        const answer = await ask('POST', path, bodyOf())
        record(transactionId, verdict, answer)
        return answer
      })
      onRecovered(lost)
      return recorded
    } catch (error) {
      const isOpen = target?.transactionId === transactionId
      onFailure(error, isOpen ? '' : lost)
      if (isOpen) part('verdict-news').textContent = ''
      if (error instanceof RequestFailed && error.failure.code === 'version_conflict') onOutdated()
      return undefined
    } finally {
      sending.delete(transactionId)
    }
  }

  /**
   * Stores the recorded verdict and the new version of the case, so that the next change is not refused because of this
   * one. If the page already shows a later version of the case, that version stays.
   * @param {string} transactionId
   * @param {Verdict} verdict
   * @param {Recorded} recorded
   */
  function record(transactionId, verdict, recorded) {
    onRecorded(transactionId, verdict, recorded)
    const { version } = recorded
    if (target?.transactionId !== transactionId) return
    if (target.version === undefined) target = { ...target, verdict }
    else if (target.version <= version) target = { ...target, verdict, version }
  }

  function tellThatItIsSent() {
    part('verdict-news').textContent = 'The verdict is being sent.'
  }

  /** Ends the offer to undo the last verdict. */
  function keep() {
    last = undefined
    button('undo').hidden = true
  }

  /**
   * Adapts the offer to undo the last verdict to a newer version of the case. If somebody else has given a verdict
   * since then, the last verdict can no longer be undone.
   * @param {Target} opened
   */
  function follow({ verdict, giver, version }) {
    // A late answer may show the case as it was before the verdict.
    if (last === undefined || version === undefined || version < last.version) return
    if (verdict !== last.given || giver !== session.current?.subject) return keep()
    last.version = version
  }

  /**
   * @param {string} news
   * @param {boolean} mayUndo
   */
  function say(news, mayUndo) {
    cancel()
    part('verdict-news').textContent = news
    button('undo').hidden = !mayUndo
    part('case').focus({ preventScroll: true })
  }

  for (const [key, { id }] of Object.entries(BY_KEY)) button(id).addEventListener('click', () => choose(key))
  button('cancel-verdict').addEventListener('click', () => {
    cancel()
    part('case').focus({ preventScroll: true })
  })
  ignoreHeldEnter(part('confirm'))
  byId('confirm', HTMLFormElement).addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    cancel()
    part('case').focus({ preventScroll: true })
  })
  button('undo').addEventListener('click', () => void undo())
  // The form does not wait for the answer, because the analyst may judge the next case before it arrives.
  onSubmit('confirm', () => void confirm().catch(onFailure), onFailure)

  return {
    /**
     * Shows the verdict of the open transaction. If the same transaction is already open, a pending question stays.
     * @param {Target} opened
     */
    open(opened) {
      const isOther = opened.transactionId !== target?.transactionId
      target = opened
      if (isOther) this.reset()
      follow(opened)
      if (asked === undefined) cancel()
      else requireReason()
    },
    /** Forgets the open transaction. */
    close() {
      target = undefined
      this.reset()
    },
    reset() {
      keep()
      part('verdict-news').textContent = ''
      cancel()
    },
    /**
     * @param {string} key
     * @returns {boolean} whether the key has a function
     */
    press(key) {
      if (key === 'escape' && asked !== undefined) cancel()
      else if (key === 'u' && !button('undo').hidden) void undo()
      else if (Object.hasOwn(BY_KEY, key)) choose(key)
      else return false
      return true
    },
  }
}
