// @ts-check
/** @import { Wiring } from './queue.js' */
import { byId, input, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask } from '../../../kit/page/browser/session.js'
import { drawReport } from './backtest-report.js'
import { localTime } from './text.js'

const POLL_MS = 1_000
/** Statuses of requests that may succeed later. 0 means that the server did not answer. */
const TEMPORARY = [0, 429, 503]
const WEEK_MS = 7 * 86_400_000

/**
 * Starts back-tests of the rule in the editor, and shows their reports.
 * @param {Wiring & { rule: () => object, onFaults: (error: unknown) => boolean }} wiring
 */
export function backtestForm({ onFailure, onSuccess, rule, onFaults }) {
  const progress = byId('backtest-progress', HTMLProgressElement)
  /** Counts runs, so that an abandoned run no longer reports anything. */
  let runs = 0

  async function run() {
    const turn = ++runs
    part('backtest-report').replaceChildren()
    const sample = Number(input('sample').value)
    const body = { rule: rule(), from: iso(input('from').value), to: iso(input('to').value), sample }
    try {
      const { job_id } = await ask('POST', '/api/v1/rules/backtest', body)
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
    let hasFailed = false
    while (turn === runs) {
      const job = await ask('GET', `/api/v1/rules/backtest/${encodeURIComponent(jobId)}`).catch(unlessTemporary)
      if (turn !== runs) return
      if (job instanceof RequestFailed) {
        hasFailed = true
        onFailure(job)
        await new Promise((resolve) => setTimeout(resolve, job.failure.retryAfterS * 1_000))
        continue
      }
      if (hasFailed) onSuccess()
      hasFailed = false
      progress.value = Number(job.progress)
      if (job.status === 'done') {
        say('The back-test is done.')
        return drawReport(part('backtest-report'), job.report)
      }
      if (job.status === 'failed') return say(`The back-test failed. ${job.reason ?? ''}`)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
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
      runs++
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
    },
  }
}

/**
 * Returns the failure if the back-test probably goes on, so that its report is not lost. Throws it otherwise.
 * @param {unknown} error
 */
function unlessTemporary(error) {
  if (error instanceof RequestFailed && TEMPORARY.includes(error.failure.status)) return error
  throw error
}

/** @param {string} local the value of a `datetime-local` field */
const iso = (local) => new Date(local).toISOString()
