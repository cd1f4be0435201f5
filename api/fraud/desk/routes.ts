import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'

const open = { kind: 'open' } as const

export const deskRoute = defineRoute({
  method: 'get',
  path: '/fraud',
  operationId: 'fraudDesk',
  summary: "Show the analysts' desk as an HTML page",
  description:
    'The page has the queue of cases, verdicts by key, the rule editor with back-tests, and the report on the models. It has no data of its own: it calls this API with the session of its user.',
  auth: open,
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const deskFileRoute = defineRoute({
  method: 'get',
  path: '/fraud/{file}',
  operationId: 'fraudDeskFile',
  summary: 'Read a script or the style sheet of the page',
  description: 'Only the page itself needs these files. Their names may change.',
  auth: open,
  params: z.object({ file: z.string().openapi({ description: 'The name of the file.', example: 'style.css' }) }),
  answers: { 200: { description: 'The file.', mediaType: 'text/javascript', otherMediaTypes: ['text/css'] } },
  errors: [errors.not_found],
})
