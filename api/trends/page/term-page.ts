import type { z } from '@hono/zod-openapi'
import { html } from 'hono/html'
import type { Region } from '../../../schemas/trends/places/regions.ts'
import type { Html } from '../../kit/page/rendered.ts'
import type { HistorySchema } from '../model.ts'
import { curvePoints } from './curve.ts'
import { countText, isolated, listAddress, listTitle, placeText, termAddress, timeText } from './layout.ts'

export type History = z.infer<typeof HistorySchema>

/** The ranges that the page offers, with the length of their steps. */
export const RANGES = {
  day: { name: 'Last day', hours: 24, resolution: '15m', step: '15 minutes' },
  week: { name: 'Last week', hours: 168, resolution: '1h', step: 'hour' },
  quarter: { name: 'Last 90 days', hours: 2_160, resolution: '1d', step: 'day' },
} as const

export type Range = keyof typeof RANGES

const CHART = { width: 800, height: 200 }

export function termPage(history: History, region: Region, range: Range, safe: boolean): Html {
  const { term, data_points: points } = history
  const { step, name } = RANGES[range]
  const volumes = points.map(({ volume }) => volume)
  const total = volumes.reduce((sum, volume) => sum + volume, 0)
  const greatest = points.reduce((best, point) => (point.volume > best.volume ? point : best), points[0])
  return html`<nav class="soft" aria-label="List"><a href="${listAddress(region, safe)}">${listTitle(region)}</a></nav>
<h1>${isolated(term)}</h1>
<nav class="ranges" aria-label="Ranges">${Object.entries(RANGES).map(([each, { name }]) => rangeLink(`${termAddress(term, region, safe)}&range=${each}`, name, each === range))}</nav>
${
  total === 0
    ? html`<p class="note">Nobody has used this term ${placeText(region)} in this period.</p>`
    : html`<p>${name}: ${countText(total)} ${total === 1 ? 'tweet' : 'tweets'}, with a peak of ${countText(greatest.volume)} in the ${step} from ${timeText(greatest.ts)}.</p>
${chart(volumes)}
<p class="ends soft"><span>${timeText(points[0].ts)}</span><span>${timeText(points.at(-1)!.ts)}</span></p>
<details><summary>Numbers</summary><div class="wide"><table><thead><tr><th scope="col">From</th><th scope="col" class="number">Tweets</th></tr></thead>
<tbody>${points.toReversed().map(({ ts, volume }) => html`<tr><td>${timeText(ts)}</td><td class="number">${countText(volume)}</td></tr>`)}</tbody></table></div></details>`
}`
}

function rangeLink(address: string, name: string, isCurrent: boolean): Html {
  return html`<a href="${address}"${isCurrent ? html` aria-current="page"` : ''}>${name}</a>`
}

/** Draws the volumes as a curve. The area below the curve is filled, so that isolated peaks are visible. */
function chart(volumes: readonly number[]): Html {
  const { width, height } = CHART
  const points = curvePoints(volumes, CHART)
  return html`<svg class="chart" viewBox="0 -2 ${width} ${height + 4}" preserveAspectRatio="none" aria-hidden="true"><polygon points="0,${height} ${points} ${width},${height}"/><polyline points="${points}"/></svg>`
}
