import { z } from '@hono/zod-openapi'
import { ENTITY_KINDS } from '../../../schemas/fraud/entity.ts'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { READERS } from '../readers.ts'
import { ProfileSchema } from './model.ts'

export const profileRoute = defineRoute({
  method: 'get',
  path: '/api/v1/profiles/{kind}/{id}',
  operationId: 'getProfile',
  summary: 'Read a profile',
  description:
    'Returns the current profile of a user, device, IP address, card or merchant. All profiles except those of merchants include transactions that were scored just now, but their lists of user ids may lack users of the last few seconds. All time windows end now.',
  auth: READERS,
  params: z.object({
    kind: z.enum(ENTITY_KINDS, `must be one of ${ENTITY_KINDS.join(', ')}`),
    id: z.string().openapi({
      example: 'u1',
      description: 'Depending on the kind, the id of a user, device or merchant, an IP address, or a card_hash.',
    }),
  }),
  answers: { 200: { description: 'The profile. Its fields depend on the kind.', schema: ProfileSchema } },
  errors: [fraudErrors.entity_not_found, errors.not_ready],
})
