import { html } from 'hono/html'
import { CONTEXTS } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { ShownItem } from '../../../state/views/recommendations/items.ts'
import type { Answer } from '../../kit/answer.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import { errors } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { check } from '../../kit/input.ts'
import { pageFiles } from '../../kit/page/files.ts'
import type { Html } from '../../kit/page/rendered.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { REC_TYPES } from '../candidates/generate.ts'
import { lastRuns } from '../models/last-runs.ts'
import type { RecommendationsPart } from '../part.ts'
import type { ListServer, ServedList } from '../serve/serve.ts'
import type { ShownItems } from '../serve/shown-items.ts'
import type { RecommendationTables } from '../tables.ts'
import { type Choice, choiceQuery, givenTexts } from './choice.ts'
import { DETAILED_CANDIDATES, explanationPage } from './explanation-page.ts'
import { pageAnswer, words } from './layout.ts'
import { qualitySection } from './quality-page.ts'
import { EXPLAIN, explainFileRoute, explainRoute, SIGN_IN, signInPageRoute } from './routes.ts'

export interface ExplainDeps extends Pick<ServiceKit, 'tables' | 'log'> {
  readonly lists: Pick<ListServer, 'serve'>
  readonly shown: ShownItems
  readonly catalogue: Pick<RecommendationTables, 'items'>
}

/** Number of items that the page shows. A complete list has this many. */
const SHOWN_ITEMS = 50
/** Maximum number of training runs whose models are compared. */
export const SHOWN_RUNS = 10
const SCOPE = 'internal'
const SEE_OTHER = 303

/** Creates the routes of the page that explains lists. The server renders the page. */
export function explainPart({ lists, shown, catalogue, tables, log }: ExplainDeps): RecommendationsPart {
  const files = pageFiles({ folder: new URL('./browser/', import.meta.url), files: ['style.css', 'sign-in.js'] })

  async function explained(choice: Choice): Promise<Html> {
    const { user_id: userId, rec_type: recType, context, item_id: itemId, diversity } = choice
    if (userId === undefined) return html``
    const list = await lists.serve({ userId, recType, context, itemId, diversity: diversity === 'true', limit: SHOWN_ITEMS })
    const best = list.candidates.toSorted((one, other) => other.score - one.score).slice(0, DETAILED_CANDIDATES)
    const { items } = catalogue
    const genreOf = (id: bigint) => {
      const row = items.rowOf(id)
      return row < 0 ? '' : items.genreName(items.genreAt(row))
    }
    return explanationPage({
      list,
      best,
      shown: await titlesOf(
        list,
        best.map(({ candidate }) => candidate),
      ),
      genreOf,
    })
  }

  async function titlesOf(list: ServedList, candidates: readonly { readonly itemId: bigint; readonly sourceItemId: bigint | undefined }[]) {
    const ids = new Set([...list.user.recent, ...candidates.flatMap(({ itemId, sourceItemId }) => [itemId, sourceItemId ?? itemId])])
    const found: ReadonlyMap<bigint, ShownItem> = await shown.read([...ids])
    return new Map([...found, ...list.shown])
  }

  async function page({ subject, scopes }: Caller, texts: Record<string, string>): Promise<Answer> {
    const reader = { who: subject, signIn: signInFor(texts) }
    if (!scopes.has(SCOPE)) {
      const main = html`<h1>Not allowed</h1><p>This page shows the features of any user, so it needs a token with the scope ${SCOPE}. <a href="${reader.signIn}">Sign in with another token</a></p>`
      return await pageAnswer({ ...reader, status: errors.forbidden.status, title: 'Not allowed', main })
    }
    const { value, details } = check(choiceQuery, texts, 'query')
    if (value === undefined) {
      const lines = details.map(({ path, message }) => html`<li>${path.replace('query.', '')} ${message}</li>`)
      const main = html`<h1>This list cannot be explained</h1><ul>${lines}</ul><p><a href="${EXPLAIN}">Start again</a></p>`
      return await pageAnswer({ ...reader, status: errors.invalid_request.status, title: 'This list cannot be explained', main })
    }
    const choice = value as Choice
    const [explanation, runs] = await Promise.all([explained(choice), lastRuns({ tables, log }, SHOWN_RUNS)])
    const title = choice.user_id === undefined ? 'Recommendations explained' : `User ${choice.user_id}`
    const main = html`<h1>How a list is made</h1>${form(choice)}${explanation}${qualitySection(runs)}`
    return await pageAnswer({ ...reader, status: 200, title, main })
  }

  return {
    routes: [
      bind(explainRoute, async ({ caller, query }) => {
        const texts = givenTexts(query)
        if (caller !== undefined) return await page(caller, texts)
        return { status: SEE_OTHER, headers: { ...PRIVATE, Location: signInFor(texts) }, body: null }
      }),
      bind(signInPageRoute, () => files.page('sign-in.html')),
      bind(explainFileRoute, ({ params: { file } }) => files.file(file)),
    ],
  }
}

/**
 * Returns the address of the sign-in page. After the sign-in, that page opens the explain page with the same
 * parameters.
 */
function signInFor(texts: Record<string, string>): string {
  const asked = new URLSearchParams(texts).toString()
  return `${SIGN_IN}${asked === '' ? '' : `?${asked}`}`
}

function form({ user_id, context, rec_type, item_id, diversity }: Choice): Html {
  const options = (values: readonly string[], chosen: string) =>
    values.map((value) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${words(value)}</option>`)
  return html`<form class="choice" action="${EXPLAIN}">
<div><label for="user_id">User</label><input id="user_id" name="user_id" inputmode="numeric" maxlength="19" required value="${user_id ?? ''}"></div>
<div><label for="context">Context</label><select id="context" name="context">${options(CONTEXTS, context)}</select></div>
<div><label for="rec_type">List</label><select id="rec_type" name="rec_type">${options(REC_TYPES, rec_type)}</select></div>
<div><label for="item_id">About the item</label><input id="item_id" name="item_id" inputmode="numeric" maxlength="19" value="${item_id ?? ''}"></div>
<div><label for="diversity">Diversity</label><select id="diversity" name="diversity">${options(['false', 'true'], diversity)}</select></div>
<button class="primary">Explain</button>
</form>`
}
