// @ts-check
/** @import { Wiring } from './queue.js' */
import { isolated, make, part, redraw } from '../../../kit/page/browser/elements.js'
import { ask } from '../../../kit/page/browser/session.js'
import { askAgain } from './ask-again.js'
import { barPlot, squarePlot } from './plots.js'
import { row, table } from './table.js'
import { count, dateTime, number, percent, words } from './text.js'

/** A population stability index of at least this value means a clear change in the distribution. */
const DRIFT_WARNING = 0.2
const MOST_DRIFTS = 12
const DAY_MS = 86_400_000
/** Minimum length of a trial, in days. The API promotes a challenger earlier only if an administrator forces it to. */
const TRIAL_DAYS = 7

/**
 * Shows the models in force and their quality.
 * @param {Wiring} wiring
 */
export function modelsView({ onFailure, onSuccess }) {
  let isShown = false
  let hasFailed = false

  async function load() {
    hasFailed = false
    part('model-news').textContent = ''
    try {
      drawVersions(await ask('GET', '/api/v1/models'), change)
      onSuccess()
      drawReport(await ask('GET', '/api/v1/models/report'))
    } catch (error) {
      // The next call of `show` must read the data again.
      hasFailed = true
      onFailure(error)
    }
  }

  /**
   * @param {string} path
   * @param {object} [body]
   */
  async function change(path, body) {
    part('model-news').textContent = ''
    try {
      await ask('POST', `/api/v1/models/${path}`, body)
      onSuccess()
      // The next read may fail, but the change has taken effect.
      part('model-news').textContent = 'The models have been changed. All API processes load them within seconds.'
    } catch (error) {
      return onFailure(error)
    }
    try {
      drawVersions(await ask('GET', '/api/v1/models'), change)
    } catch (error) {
      hasFailed = true
      onFailure(error)
    }
  }

  return {
    /** @param {boolean} visible */
    show(visible) {
      if (visible && (!isShown || hasFailed)) void load()
      isShown = visible
    },
  }
}

/** @typedef {(path: string, body?: object) => Promise<void>} Change posts to a path below `/api/v1/models/` */

/**
 * @param {any} found
 * @param {Change} change
 */
function drawVersions({ champion = {}, challenger, available = [] }, change) {
  const rows = Object.entries(champion).map(([name, version]) => {
    const other = challenger?.versions?.[name]
    const files = available.filter((/** @type {any} */ one) => one.name === name)
    const inForce = files.find((/** @type {any} */ one) => one.version === version)
    const cells = [version, other ?? '–', inForce?.trained_on ?? '–'].map((value) => isolated(String(value)))
    const others = files.filter((/** @type {any} */ one) => one.version !== version && one.version !== other)
    return row(
      isolated(words(name)),
      ...cells,
      make('span', 'inline', ...others.map((/** @type {any} */ file) => tryButton(file, challenger, change))),
    )
  })
  redraw(part('model-versions'), [
    table('Models in force', ['Model', 'Champion', 'Challenger', 'Trained on', ''], rows),
    make('p', 'soft', challenger ? trialOf(challenger) : 'There is no challenger.'),
    make('p', 'inline', ...(challenger ? trialButtons(challenger, change) : []), rollBackButton(change)),
  ])
}

/**
 * @param {{ name: string, version: string }} file
 * @param {object | null | undefined} challenger the current challenger, which the file would replace
 * @param {Change} change
 */
function tryButton({ name, version }, challenger, change) {
  const label = `Try ${words(name)} ${version}`
  const consequence = challenger ? ` This ends the current trial, and a new one of ${TRIAL_DAYS} days begins.` : ''
  return askAgain(label, `${label} on 5 %?${consequence}`, () => change('challenger', { versions: { [name]: version } }))
}

/** @param {{ since: string, days: number }} challenger */
function trialOf({ since, days }) {
  const scored = `The challenger has scored 5 % of the transactions since ${dateTime(since)}, without affecting decisions.`
  return days >= TRIAL_DAYS ? scored : `${scored} It can be promoted from ${dateTime(Date.parse(since) + TRIAL_DAYS * DAY_MS)} on.`
}

/**
 * @param {{ days: number }} challenger
 * @param {Change} change
 */
function trialButtons({ days }, change) {
  const end = askAgain('End the trial', 'End the trial now?', () => change('challenger', { versions: null }))
  if (days < TRIAL_DAYS) {
    const question = 'Let the challenger decide before its trial is over? Only administrators may do this.'
    return [askAgain('Promote early', question, () => change('promote', { force: true })), end]
  }
  return [askAgain('Promote the challenger', 'Let the challenger decide from now on?', () => change('promote', {})), end]
}

/** @param {Change} change */
function rollBackButton(change) {
  return askAgain('Roll back', 'Restore the previous champion?', () => change('rollback'))
}

/** @param {any} report */
function drawReport(report) {
  const parts = (report?.models ?? []).flatMap((/** @type {any} */ model) => [
    make('h3', '', isolated(words(model.name)), ' ', make('span', 'soft', isolated(`version ${model.version}`))),
    figures(model),
    ...(model.frauds > 0 ? [] : [make('p', 'soft', 'The report contains no confirmed fraud with which the scores could be compared.')]),
    make('div', 'plots', ...plotsOf(model)),
  ])
  part('model-report').replaceChildren(...parts)
}

/** @param {any} model */
function figures(model) {
  /** @type {[string, string][]} */
  const known = [
    ['AUC', format(model.auc)],
    ['average precision', format(model.average_precision)],
    ['recall at 1 % false positives', percent(model.recall_at_1pct_fpr)],
    ['transactions', count(model.transactions)],
    ['fraud', count(model.frauds)],
  ]
  return make(
    'p',
    'soft',
    known
      .filter(([, value]) => value !== '–')
      .map(([name, value]) => `${name} ${value}`)
      .join(' · '),
  )
}

/** @param {number | null | undefined} value */
const format = (value) => (typeof value === 'number' ? number(value) : '–')

/** @param {any} model */
function plotsOf(model) {
  const plots = []
  const roc = curve(model.roc, 'fpr', 'tpr')
  if (roc.length > 0) {
    plots.push(squarePlot({ title: 'ROC', x: 'false positive rate', y: 'recall', series: [{ name: 'ROC', points: roc }], diagonal: true }))
  }
  const pr = curve(model.pr, 'recall', 'precision')
  if (pr.length > 0)
    plots.push(squarePlot({ title: 'Precision and recall', x: 'recall', y: 'precision', series: [{ name: 'precision', points: pr }] }))
  const calibration = model.frauds > 0 ? curve(model.calibration, 'predicted', 'observed') : []
  if (calibration.length > 0) {
    const series = [{ name: 'observed', points: calibration }]
    plots.push(
      squarePlot({
        title: 'Calibration',
        x: 'score',
        y: 'share of fraud',
        series,
        diagonal: true,
        note: 'A calibrated model follows the diagonal.',
      }),
    )
  }
  const drift = driftOf(model.drift)
  if (drift.length > 0) {
    const note = `Population stability index of the last day, compared with the 29 days before it. If it is at least ${DRIFT_WARNING}, the distribution has clearly changed.`
    plots.push(barPlot({ title: 'Drift', bars: drift, format: number, warnFrom: DRIFT_WARNING, note }))
  }
  return plots
}

/**
 * Reads the points of a curve.
 * @param {any} points objects with the properties that `x` and `y` name
 * @param {string} x
 * @param {string} y
 */
function curve(points, x, y) {
  return (points ?? []).map((/** @type {any} */ point) => ({ x: point[x], y: point[y] }))
}

/** @param {any} drift the index of each feature; null if there are too few transactions */
function driftOf(drift) {
  return (drift ?? [])
    .filter((/** @type {any} */ { psi }) => psi !== null)
    .map((/** @type {any} */ { feature, psi }) => ({ name: feature, value: psi }))
    .sort((/** @type {{ value: number }} */ a, /** @type {{ value: number }} */ b) => b.value - a.value)
    .slice(0, MOST_DRIFTS)
}
