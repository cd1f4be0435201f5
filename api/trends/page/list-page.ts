import type { z } from '@hono/zod-openapi'
import { html } from 'hono/html'
import { pathOf, type Region, regionOf, regions } from '../../../schemas/trends/places/regions.ts'
import type { Html } from '../../kit/page/rendered.ts'
import type { TrendListSchema } from '../model.ts'
import { curvePoints } from './curve.ts'
import { countText, isolated, listAddress, listTitle, ratioText, startAddress, termAddress, timeText } from './layout.ts'
import { placesMap } from './map.ts'

export type TrendList = z.infer<typeof TrendListSchema>
type Entry = TrendList['trends'][number]

/** The volumes of each term during the last day, oldest first. */
export type Days = ReadonlyMap<string, readonly number[]>

/** Maximum number of variants, and of related trends, that are named with a trend. */
const SHOWN_NAMES = 4
const CURVE = { width: 120, height: 24 }

/**
 * Renders the list of a region.
 * @param days volumes of the last day; undefined if the history cannot be read now
 */
export function listPage(list: TrendList, region: Region, safe: boolean, days: Days | undefined): Html {
  return html`${breadcrumb(region, safe)}
<h1>${listTitle(region)}</h1>
<p class="soft">Tweets of the hour before ${timeText(list.as_of)}. The list is renewed twice a minute.
<a href="${listAddress(region, !safe)}">${safe ? 'Show all terms' : 'Leave out vulgar terms'}</a></p>
${list.complete ? '' : html`<p class="note">This list is incomplete, because part of the service is late.</p>`}
${days === undefined ? html`<p class="note">The curves of the last day cannot be shown now.</p>` : ''}
${list.trends.length === 0 ? html`<p class="note">No terms can be shown here at the moment.</p>` : table(list, region, safe, days)}
<section aria-labelledby="places"><h2 id="places">Places</h2>
${placesMap(region, safe)}
${places(region, safe)}</section>`
}

export function placesFound(q: string, found: readonly Region[], safe: boolean): Html {
  const link = (region: Region) =>
    html`<li><a href="${listAddress(region, safe)}">${region.name}</a> <span class="soft">${enclosing(region)}</span></li>`
  return html`<h1>Places named “${q}”</h1>
${found.length === 0 ? html`<p>No places with trends match this name. <a href="${startAddress(safe)}">Show all places</a></p>` : html`<ul>${found.map(link)}</ul>`}`
}

function enclosing({ woeid }: Region): string {
  return pathOf(woeid)!
    .slice(1)
    .map((outer) => regionOf(outer)!.name)
    .join(', ')
}

function breadcrumb({ woeid }: Region, safe: boolean): Html {
  const outer = pathOf(woeid)!.slice(1).toReversed()
  const link = (each: number) => html`<a href="${listAddress({ woeid: each }, safe)}">${regionOf(each)!.name}</a> › `
  return html`<nav class="soft" aria-label="Enclosing places">${outer.map(link)}</nav>`
}

function table({ trends }: TrendList, region: Region, safe: boolean, days: Days | undefined): Html {
  return html`<div class="wide"><table><thead><tr><th scope="col">#</th><th scope="col">Trend</th><th scope="col" class="number">Tweets</th>
<th scope="col" class="number">People</th><th scope="col" class="number">Against usual</th><th scope="col">Trending since</th>${days === undefined ? '' : html`<th scope="col">Last day</th>`}</tr></thead>
<tbody>${trends.map((entry) => row(entry, region, safe, days))}</tbody></table></div>`
}

function row(
  { rank, name, term, variants, related, tweet_volume, users, velocity_vs_usual, label, trending_since }: Entry,
  region: Region,
  safe: boolean,
  days: Days | undefined,
): Html {
  const address = termAddress(term, region, safe)
  return html`<tr><td>${rank}</td>
<th scope="row"><a href="${address}">${isolated(name)}</a> ${label === null ? '' : html`<span class="badge">${label}</span>`}${names('also', variants)}${names('related', related)}</th>
<td class="number">${countText(tweet_volume)}</td><td class="number">${typeof users === 'number' ? countText(users) : '–'}</td><td class="number">× ${ratioText(velocity_vs_usual)}</td><td>${timeText(trending_since)}</td>
${days === undefined ? '' : html`<td>${curve(days.get(term) ?? [])}</td>`}</tr>`
}

/** Returns the names as HTML. Lists that were stored before the field existed have no names. */
function names(what: string, all: readonly string[] = []): Html | '' {
  if (all.length === 0) return ''
  const more = all.length > SHOWN_NAMES ? ` and ${all.length - SHOWN_NAMES} more` : ''
  const shown = all.slice(0, SHOWN_NAMES).map((name, at) => html`${at === 0 ? '' : ', '}${isolated(name)}`)
  return html`<div class="names soft">${what} ${shown}${more}</div>`
}

function curve(volumes: readonly number[]): Html {
  const { width, height } = CURVE
  const most = countText(Math.max(0, ...volumes))
  return html`<svg class="curve" viewBox="0 -1 ${width} ${height + 2}" role="img" aria-label="at most ${most} in half an hour"><polyline points="${curvePoints(volumes, CURVE)}"/></svg>`
}

/** Lists the places inside a region. For a city, lists the places of its country. */
function places(region: Region, safe: boolean): Html {
  const parent = region.type === 'Town' ? region.parent : region.woeid
  const links = regions
    .filter((other) => other.parent === parent)
    .toSorted((left, right) => left.name.localeCompare(right.name, 'en'))
    .map(
      (other) =>
        html`<li><a href="${listAddress(other, safe)}"${other.woeid === region.woeid ? html` aria-current="page"` : ''}>${other.name}</a></li>`,
    )
  return html`<ul class="places">${links}</ul>`
}
