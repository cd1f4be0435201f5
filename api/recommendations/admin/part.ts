import type { z } from 'zod'
import { normalised } from '../../../schemas/normalised.ts'
import { editorialLists, items as itemsTopic } from '../../../schemas/recommendations/topics.ts'
import type { EditorialList } from '../../../schemas/recommendations/types.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { bind } from '../../kit/route.ts'
import { isoTime, LAST_TIME_MS } from '../../kit/times.ts'
import type { ServiceKit } from '../../service.ts'
import { isRunning, NEW_RELEASES } from '../candidates/editorial.ts'
import { recommendationErrors } from '../errors.ts'
import type { RecommendationsPart } from '../part.ts'
import type { RecommendationTables } from '../tables.ts'
import { deleteEditorialRoute, type editorialBody, listEditorialRoute, putEditorialRoute, putItemRoute } from './routes.ts'

export interface AdminDeps extends Pick<ServiceKit, 'facts' | 'now'> {
  readonly tables: RecommendationTables
}

export function adminPart({ facts, now, tables }: AdminDeps): RecommendationsPart {
  return {
    routes: [
      bind(putEditorialRoute, async ({ params: { name }, body }) => {
        if ((body.kind === 'NEW_RELEASE_BOOST') !== (name === NEW_RELEASES))
          throw invalidRequest('body.kind', `must be NEW_RELEASE_BOOST for the name ${NEW_RELEASES}, and LIST for every other name`)
        const list = editorialOf(body, now())
        if ((list.starts_at ?? Number.NEGATIVE_INFINITY) >= (list.ends_at ?? Number.POSITIVE_INFINITY))
          throw invalidRequest('body.ends_at', 'must be after starts_at')
        await facts.publish(editorialLists, name, list)
        return jsonAnswer(200, shown(name, list, now()))
      }),
      bind(listEditorialRoute, () => jsonAnswer(200, { lists: [...tables.editorial].map(([name, list]) => shown(name, list, now())) })),
      bind(deleteEditorialRoute, async ({ params: { name } }) => {
        const isKnown = tables.editorial.has(name)
        // An unknown list is deleted, too, because another editor may have created it so recently that this process has
        // not read it yet.
        await facts.publish(editorialLists, name, null)
        if (!isKnown) throw new ApiError(recommendationErrors.editorial_list_not_found)
        return noContent()
      }),
      bind(putItemRoute, async ({ params: { item_id }, body }) => {
        const at = now()
        const row = tables.items.rowOf(item_id)
        const storedAt = tables.items.updatedAt(row)
        // A body without a time counts as the newest, even if the clock of the process that stored the item is ahead.
        const updated_at = timeOf(body.updated_at) ?? Math.max(at, storedAt)
        // A body with an older time must not be published, because it would replace the newer item in the compacted
        // topic.
        if (updated_at < storedAt) return noContent()
        await facts.publish(itemsTopic, item_id, {
          title: normalised(body.title),
          description: body.description ?? '',
          category_path: normalised(body.category_path ?? ''),
          attributes: Object.fromEntries(Object.entries(body.attributes ?? {}).map((pair) => pair.map((text) => normalised(text)))),
          popularity: body.popularity ?? 0,
          thumbnail_url: body.thumbnail_url ?? null,
          status: body.status ?? 'ACTIVE',
          // If a producer sends an item again without `created_at`, the item must not become a new release.
          created_at: timeOf(body.created_at) ?? (tables.items.isItem(row) ? tables.items.createdAt(row) : at),
          updated_at,
        })
        return noContent()
      }),
    ],
  }
}

function editorialOf(body: z.output<typeof editorialBody>, updated_at: number): EditorialList {
  const period = { starts_at: timeOf(body.starts_at), ends_at: timeOf(body.ends_at), updated_at }
  if (body.kind === 'NEW_RELEASE_BOOST') {
    return { kind: body.kind, item_ids: [], contexts: [], factor: body.factor, max_age_days: body.max_age_days, ...period }
  }
  return { kind: body.kind, item_ids: body.item_ids, contexts: body.contexts ?? [], factor: null, max_age_days: null, ...period }
}

function shown(name: string, { kind, item_ids, contexts, factor, max_age_days, starts_at, ends_at }: EditorialList, now: number) {
  const times = { starts_at: isoOf(starts_at), ends_at: isoOf(ends_at), is_running: isRunning({ starts_at, ends_at }, now) }
  return { name, kind, item_ids: item_ids.map(String), contexts, factor, max_age_days, ...times }
}

function timeOf(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Date.parse(text)
}

/**
 * Returns a time in ISO format. Programs other than the API may write times beyond the range of dates. Such a time
 * becomes the nearest date.
 */
function isoOf(time: number | null): string | null {
  return time === null ? null : isoTime(Math.max(-LAST_TIME_MS, Math.min(LAST_TIME_MS, time)))
}
