import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'

const MOST_ID_CHARACTERS = 64

const rebuild = z
  .object({
    rebuild_id: z.string(),
    index: z.string().openapi({ example: 'catalog-products' }),
    state: z
      .enum(['requested', 'filling', 'complete'])
      .openapi({ description: '`requested`: the rebuild waits for an earlier rebuild, or for a worker to start it.' }),
    progress: z.number().min(0).max(1).openapi({
      description:
        'Estimated share of all products that are already in the new index. Searches use the old index until the new index is complete.',
    }),
    requested_at: z.string(),
    started_at: z
      .string()
      .nullable()
      .openapi({ description: 'When the last attempt began. After a failure, another worker continues the rebuild.' }),
    completed_at: z.string().nullable(),
  })
  .openapi('IndexRebuild')

const auth = { kind: 'scope', scope: 'admin' } as const

export const requestRebuildRoute = defineRoute({
  method: 'post',
  path: '/api/v1/index/rebuilds',
  operationId: 'requestIndexRebuild',
  summary: 'Rebuild the search index',
  description:
    'Fills a new index with all products and then replaces the old index with it. Until then, searches use the old index. Requests are executed one after another. Repeating a request with its Idempotency-Key does not start a second rebuild.',
  auth,
  idempotent: true,
  answers: { 202: { description: 'The rebuild, which may already have begun.', schema: rebuild } },
  errors: [errors.unavailable],
})

export const readRebuildRoute = defineRoute({
  method: 'get',
  path: '/api/v1/index/rebuilds/{rebuild_id}',
  operationId: 'readIndexRebuild',
  summary: 'Read the progress of a rebuild',
  description: 'The progress is updated every second and kept for seven days.',
  auth,
  params: z.object({ rebuild_id: z.string().min(1).max(MOST_ID_CHARACTERS) }),
  answers: { 200: { description: 'The rebuild.', schema: rebuild } },
  errors: [errors.not_found, errors.not_ready],
})
