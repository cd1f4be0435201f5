import { html } from 'hono/html'
import { groupsOf, INTERACTION_GROUPS, NDCG_CANDIDATE, NDCG_IN_FORCE } from '../../../schemas/recommendations/models/run-metrics.ts'
import type { ModelRun } from '../../../schemas/recommendations/types.ts'
import type { Html } from '../../kit/page/rendered.ts'
import { numberText } from './layout.ts'

interface Bar {
  readonly name: string
  readonly candidate: number
  readonly inForce: number
}

const WIDTH = 400
const BAR_HEIGHT = 12

/**
 * Renders how each trained model compares with the model that was in force before it. For the newest training run, also
 * compares the models separately for groups of users with similar numbers of earlier interactions.
 * @param runs training runs, newest first; undefined if they cannot be read
 */
export function qualitySection(runs: readonly ModelRun[] | undefined): Html {
  return html`<section aria-labelledby="quality"><h2 id="quality">Quality of the models</h2>${content(runs)}</section>`
}

function content(runs: readonly ModelRun[] | undefined): Html {
  if (runs === undefined) return html`<p class="note">The training runs cannot be read now.</p>`
  const compared = runs.filter(({ metrics }) => metrics[NDCG_CANDIDATE] !== undefined)
  if (compared.length === 0) return html`<p class="note">No recent training run has compared models.</p>`
  const versions = compared.map(
    ({ version, state, metrics }): Bar => ({
      name: `${version ?? ''} (${state === 'IN_FORCE' ? 'put in force' : state.toLowerCase()})`,
      candidate: metrics[NDCG_CANDIDATE],
      inForce: metrics[NDCG_IN_FORCE] ?? 0,
    }),
  )
  const groups = groupsOf(compared[0].metrics)
  const byGroup = groups.map(
    ({ from, questions, candidate, inForce }): Bar => ({ name: `${groupName(from)} (${questions} questions)`, candidate, inForce }),
  )
  return html`<p class="soft">Mean NDCG@20: how high a list ranks the item that the user chose next. Each question is an interaction that neither model was trained on. The upper bar is the trained model. The lower bar is the model that was in force before, or the rules if there was none.</p>
<h3>By version</h3>${bars('Model', versions)}
<h3>By earlier interactions of the user, newest training</h3>${byGroup.length === 0 ? html`<p class="note">The newest training run did not record this.</p>` : bars('Earlier interactions', byGroup)}`
}

function groupName(from: number): string {
  const next = INTERACTION_GROUPS[INTERACTION_GROUPS.indexOf(from as (typeof INTERACTION_GROUPS)[number]) + 1]
  if (next === undefined) return `${from} and more`
  return next - 1 === from ? String(from) : `${from} to ${next - 1}`
}

/** @param heading heading of the column with the names of the rows */
function bars(heading: string, rows: readonly Bar[]): Html {
  const most = Math.max(...rows.flatMap(({ candidate, inForce }) => [candidate, inForce]), Number.MIN_VALUE)
  const bar = (kind: string, value: number, row: number) =>
    html`<rect class="${kind}" x="0" y="${row * BAR_HEIGHT}" width="${Math.round((value / most) * WIDTH)}" height="${BAR_HEIGHT - 2}"/>`
  const line = ({ name, candidate, inForce }: Bar) => html`<tr><th scope="row">${name}</th>
<td><svg class="bars" viewBox="0 0 ${WIDTH} ${2 * BAR_HEIGHT}" aria-hidden="true">${bar('candidate', candidate, 0)}${bar('in-force', inForce, 1)}</svg></td>
<td class="number">${numberText(candidate)}</td><td class="number">${numberText(inForce)}</td></tr>`
  return html`<div class="wide"><table><thead><tr><th scope="col">${heading}</th><th scope="col"></th><th scope="col" class="number">Trained</th><th scope="col" class="number">Before</th></tr></thead>
<tbody>${rows.map(line)}</tbody></table></div>`
}
