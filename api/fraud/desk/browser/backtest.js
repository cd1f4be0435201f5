// @ts-check
/** @import { Wiring } from './queue.js' */
import { byId, input, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask } from '../../../kit/page/browser/session.js'
import { drawReport } from './backtest-report.js'
import { localTime } from './text.js'

const POLL_MS = 1_000
/**
 * Number of requests in a row that may fail before the page gives up. The pauses between them grow, so the page gives up
 * after about a minute. The back-test itself continues without the page.
 */
const MOST_FAILURES = 10
const WEEK_MS = 7 * 86_400_000

/**
 * Starts back-tests of the rule in the editor, and shows their reports.
 * @param {Wiring & { rule: () => object, onFaults: (error: unknown) => boolean }} wiring
 */
export function backtestForm({ onFailure, onSuccess, rule, onFaults }) {
  const progress = byId('backtest-progress', HTMLProgressElement)
  /** Counts runs, so that an abandoned run no longer reports anything. */
  let runs = 0
  /** Ends the wait for the current run, so that the form can be sent again. The back-test itself continues. */
  let abandon = () => {}

  async function run() {
    const turn = ++runs
    await Promise.race([
      judge(turn),
      new Promise((resolve) => {
        abandon = () => resolve(undefined)
      }),
    ])
  }

  /** @param {number} turn */
  async function judge(turn) {
    part('backtest-report').replaceChildren()
    const sample = Number(input('sample').value)
    // A rule in shadow mode would change no decision, and the report would not show what the rule does.
    const tested = { ...rule(), mode: 'live' }
    const body = { rule: tested, from: iso(input('from').value), to: iso(input('to').value), sample }
    try {
      const { job_id } = await ask('POST', '/api/v1/rules/backtest', body)
      if (turn !== runs) return
      onSuccess()
      progress.hidden = false
      say('The back-test is running.')
      await follow(job_id, turn)
    } catch (error) {
      if (turn !== runs || onFaults(error)) return
      say('')
      throw error
    } finally {
      if (turn === runs) progress.hidden = true
    }
  }

  /**
   * @param {string} jobId
   * @param {number} turn
   */
  async function follow(jobId, turn) {
    for (let failures = 0; turn === runs; await pause(POLL_MS * (1 + failures))) {
      const job = await ask('GET', `/api/v1/rules/backtest/${encodeURIComponent(jobId)}`).catch((error) => {
        if (!mayPass(error) || ++failures > MOST_FAILURES) throw error
      })
      if (turn !== runs) return
      if (job === undefined) continue
      failures = 0
      progress.value = Number(job.progress)
      if (job.status === 'done') {
        say('The back-test is done.')
        return drawReport(part('backtest-report'), job.report)
      }
      if (job.status === 'failed') return say(`The back-test failed. ${job.reason ?? ''}`)
    }
  }

  /** @param {string} news */
  function say(news) {
    part('backtest-news').textContent = news
  }

  onSubmit('backtest', run, onFailure)

  return {
    /** Prepares the form for another rule: removes the previous report, and selects the last week as the period. */
    reset() {
      this.stop()
      progress.hidden = true
      progress.value = 0
      say('')
      part('backtest-report').replaceChildren()
      const now = Date.now()
      input('from').value = localTime(new Date(now - WEEK_MS))
      input('to').value = localTime(new Date(now))
    },
    stop() {
      runs++
      abandon()
    },
  }
}

/** @param {string} local the value of a `datetime-local` field */
const iso = (local) => new Date(local).toISOString()

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Returns whether a later request may succeed.
 * @param {unknown} error
 */
function mayPass(error) {
  if (!(error instanceof RequestFailed)) return false
  const { status } = error.failure
  return status === 0 || status === 429 || status >= 500
}
