import { html } from 'hono/html'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { ShownItem } from '../../../state/views/recommendations/items.ts'
import type { Html } from '../../kit/page/rendered.ts'
import { CHANNELS } from '../candidates/candidate.ts'
import { metPreference } from '../items/traits.ts'
import { featuresOf, type Scored } from '../rank/rank.ts'
import { explanationOf } from '../serve/explanation.ts'
import type { AnswerItem, ServedList } from '../serve/serve.ts'
import { numberText, words } from './layout.ts'

/** Maximum number of candidates whose features the page shows. */
export const DETAILED_CANDIDATES = 100

export interface Explained {
  readonly list: ServedList
  /** The best candidates, by score. */
  readonly best: readonly Scored[]
  /** Titles and other properties of the items on the page. */
  readonly shown: ReadonlyMap<bigint, ShownItem>
  genreOf(itemId: bigint): string
}

/** Renders the explanation of one list: the user, the list, and the candidates. */
export function explanationPage({ list, best, shown, genreOf }: Explained): Html {
  const title = (itemId: bigint) => shown.get(itemId)?.title ?? `Item ${itemId}`
  return html`${userSection(list, title)}
${listSection(list, shown, title, genreOf)}
${channelSection(list)}
${candidateSection(list, best, title)}`
}

type TitleOf = (itemId: bigint) => string

function userSection({ user, modelVersion, degraded }: ServedList, title: TitleOf): Html {
  const facts: readonly (readonly [string, string])[] = [
    ['Interactions', String(user.interactions)],
    ['Last visit', user.hoursAway === undefined ? 'none within 7 days' : `${numberText(user.hoursAway)} hours ago`],
    ['Country', user.country ?? 'unknown'],
    ['Age group', user.ageBucket ?? 'unknown'],
    [
      'Preferences',
      user.preferences.length === 0
        ? 'none stated'
        : user.preferences.map(({ category, value, weight }) => `${category} ${value} ${weight}`).join(', '),
    ],
    ['Hidden items', String(user.hidden.size)],
    ['Features include events up to offset', String(user.throughOffset)],
    ['Model', modelVersion],
    ['Missing', degraded.length === 0 ? 'nothing' : degraded.join(', ')],
  ]
  return html`<section aria-labelledby="user"><h2 id="user">User ${user.id}</h2>
<dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<h3>Last items</h3>
${user.recent.length === 0 ? html`<p class="note">It is not known which items this user has viewed.</p>` : html`<ol>${user.recent.map((itemId) => html`<li>${title(itemId)} <span class="soft">${itemId}</span></li>`)}</ol>`}</section>`
}

function listSection(
  { items, isCapRelaxed, user }: ServedList,
  shown: Explained['shown'],
  title: TitleOf,
  genreOf: (itemId: bigint) => string,
): Html {
  const likedOf = (itemId: bigint) => {
    const known = shown.get(itemId)
    return (known && metPreference(user.preferences, known)) ?? genreOf(itemId)
  }
  const row = (item: AnswerItem, place: number) => html`<tr><td>${place + 1}</td>
<th scope="row">${title(item.itemId)} <span class="soft">${item.itemId}</span></th><td>${genreOf(item.itemId)}</td>
<td class="text">${explanationOf(item, item.sourceItemId === undefined ? undefined : title(item.sourceItemId), () => likedOf(item.itemId))}</td>
<td>${item.channel}</td><td class="number">${numberText(item.score)}</td><td class="number">${moved(item, place)}</td></tr>`
  return html`<section aria-labelledby="list"><h2 id="list">The list</h2>
<p class="soft">“Moved” compares the place of an item with its place by score alone. Arranging moves items down if their genre is full or they are similar to earlier items, and reserves some places for new items.${isCapRelaxed ? ' Fewer than 20 items were left within the limit per genre, so the limit was exceeded.' : ''}</p>
${
  items.length === 0
    ? html`<p class="note">There is nothing to recommend.</p>`
    : html`<div class="wide"><table><thead><tr><th scope="col">#</th><th scope="col">Item</th><th scope="col">Genre</th><th scope="col">Reason</th><th scope="col">Channel</th><th scope="col" class="number">Score</th><th scope="col" class="number">Moved</th></tr></thead>
<tbody>${items.map(row)}</tbody></table></div>`
}</section>`
}

function moved({ details }: AnswerItem, place: number): string {
  if (details === undefined) return 'from an earlier list'
  if (details.isExplored) return 'explored'
  const places = details.placeByScore - place
  return places === 0 ? '' : places > 0 ? `${places} up` : `${-places} down`
}

function channelSection({ candidates, items }: ServedList): Html {
  const rows = CHANNELS.map((channel) => ({
    channel,
    found: candidates.filter(({ candidate }) => candidate.channel === channel).length,
    listed: items.filter((item) => item.channel === channel).length,
  })).filter(({ found, listed }) => found + listed > 0)
  return html`<section aria-labelledby="channels"><h2 id="channels">Candidates by channel</h2>
<div class="wide"><table><thead><tr><th scope="col">Channel</th><th scope="col" class="number">Candidates</th><th scope="col" class="number">In the list</th></tr></thead>
<tbody>${rows.map(({ channel, found, listed }) => html`<tr><th scope="row">${channel}</th><td class="number">${found}</td><td class="number">${listed}</td></tr>`)}
<tr><th scope="row">all</th><td class="number">${candidates.length}</td><td class="number">${items.length}</td></tr></tbody></table></div></section>`
}

function candidateSection({ candidates, items }: ServedList, best: readonly Scored[], title: TitleOf): Html {
  const listed = new Set(items.map(({ itemId }) => itemId))
  const row = ({ candidate, score, ...one }: Scored, place: number) => html`<tr><td>${place + 1}</td>
<th scope="row">${title(candidate.itemId)}${listed.has(candidate.itemId) ? '' : html` <span class="soft">not listed</span>`}</th><td>${candidate.channel}</td>
<td class="text">${candidate.sourceItemId === undefined ? '' : title(candidate.sourceItemId)}</td><td class="number">${numberText(score)}</td>
${Array.from(featuresOf(one), (value) => html`<td class="number">${numberText(value)}</td>`)}</tr>`
  return html`<section aria-labelledby="candidates"><h2 id="candidates">Candidates by score</h2>
<p class="soft">The best ${best.length} of ${candidates.length}, before the list is arranged.</p>
<details><summary>Scores and ranking features</summary><div class="wide"><table><thead><tr><th scope="col">#</th><th scope="col">Item</th><th scope="col">Channel</th><th scope="col">Source</th><th scope="col" class="number">Score</th>${RANKING_FEATURES.map((name) => html`<th scope="col" class="number">${words(name)}</th>`)}</tr></thead>
<tbody>${best.map(row)}</tbody></table></div></details></section>`
}
