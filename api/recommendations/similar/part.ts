import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError } from '../../kit/errors.ts'
import { bind } from '../../kit/route.ts'
import { byCategory, byNeighbours, byVector, type SimilarItem } from '../candidates/similarity.ts'
import { recommendationErrors } from '../errors.ts'
import { sharedAttributes } from '../items/genre.ts'
import type { RecommendationsPart } from '../part.ts'
import type { ListServer } from '../serve/serve.ts'
import type { ShownItems } from '../serve/shown-items.ts'
import type { RecommendationTables } from '../tables.ts'
import { type SimilarDegradation, similarRoute } from './routes.ts'

export interface SimilarDeps {
  readonly tables: RecommendationTables
  readonly shown: ShownItems
  readonly lists: Pick<ListServer, 'neighboursOf' | 'modelFor'>
}

export function similarPart({ tables, shown, lists }: SimilarDeps): RecommendationsPart {
  const { items, leaders } = tables

  async function similarTo(itemId: bigint, row: number, limit: number) {
    const neighbours = await lists.neighboursOf([itemId])
    const model = lists.modelFor(undefined)
    const found: SimilarItem[] = [
      ...byNeighbours(items, itemId, neighbours?.get(itemId) ?? []).sort((one, other) => other.similarity - one.similarity),
      ...byVector(items, model, itemId, limit),
      ...byCategory(items, leaders.ofGenre, row, limit),
    ]
    const seen = new Set<number>()
    const best = found.filter((item) => items.isActive(item.row) && !seen.has(item.row) && seen.add(item.row))
    const degraded: SimilarDegradation[] = []
    if (neighbours === undefined) degraded.push('neighbours')
    if (model !== undefined && model.failed.size > 0) degraded.push('vectors')
    return { similar: best.slice(0, limit), degraded }
  }

  return {
    routes: [
      bind(similarRoute, async ({ params: { item_id }, query: { limit } }) => {
        const row = items.rowOf(item_id)
        if (!items.isActive(row)) throw new ApiError(recommendationErrors.item_not_found)
        const { similar, degraded } = await similarTo(item_id, row, limit)
        const ids = [item_id, ...similar.map((item) => items.idAt(item.row))]
        const known = await shown.read(ids)
        const source = known.get(item_id)
        const similar_items = similar.map(({ similarity }, index) => {
          const item = known.get(ids[index + 1])
          const shared_attributes = source === undefined || item === undefined ? [] : sharedAttributes(source, item)
          return { item_id: String(ids[index + 1]), similarity_score: similarity, shared_attributes }
        })
        if (ids.some((id) => !known.has(id))) degraded.push('shared_attributes')
        return jsonAnswer(200, { source_item: String(item_id), similar_items, degraded })
      }),
    ],
  }
}
