import { z } from '@hono/zod-openapi'
import type { Interaction } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { idField } from '../parameters.ts'

/** Limits of events: docs/services/recommendations.md#events */
const MAX_AHEAD_MS = 5 * 60_000
const MAX_AGE_MS = 90 * DAY_MS
const MS_PER_SECOND = 1_000
const MAX_SECONDS = 86_400
const MAX_PLACE = 10_000
const MAX_BATCH = 500
const PAGE_CHARACTERS = 100
const ID_CHARACTERS = 128

const text = (characters: number) => z.string().min(1).max(characters).optional()

/** Schema of an event: a VIEW, CLICK, PURCHASE, RATE, SKIP or DWELL. */
export const eventBody = z
  .strictObject({
    user_id: idField('Default: the subject of the token.', '42').optional(),
    item_id: idField('The item, which may be unknown. Its statistics include the event only if the item becomes known within an hour.'),
    event_type: z.enum(['VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL']),
    timestamp: z
      .number()
      .min(0)
      .optional()
      .openapi({ description: 'Time of the event, in epoch seconds. Default: now.', example: 1_768_478_400 }),
    event_id: z
      .string()
      .regex(/^[ -~]{1,128}$/, 'must have 1 to 128 printable ASCII characters')
      .optional()
      .openapi({
        description:
          'Id of the event. If a user has several events with the same id within a day, they are counted once. If an event has no id and the request has no Idempotency-Key, this applies to events with the same item, type and second.',
      }),
    context: z
      .strictObject({
        page: text(PAGE_CHARACTERS),
        position: z.int().min(0).max(MAX_PLACE).optional(),
        rec_request_id: text(ID_CHARACTERS).openapi({ description: '`request_id` of the answer that contained the item.' }),
        device: text(PAGE_CHARACTERS),
        session_id: text(ID_CHARACTERS),
      })
      .optional(),
    metadata: z
      .strictObject({
        dwell_time_sec: z.number().min(0).max(MAX_SECONDS).optional(),
        rating: z.number().min(1).max(5).optional(),
        watch_pct: z.number().min(0).max(1).optional(),
      })
      .optional(),
  })
  .superRefine(({ event_type, metadata }, context) => {
    if (event_type !== 'RATE' || metadata?.rating !== undefined) return
    context.addIssue({ code: 'custom', path: ['metadata', 'rating'], message: 'is missing; a RATE needs a rating from 1 to 5' })
  })
  .openapi('InteractionEvent')

export const batchBody = z.strictObject({ events: z.array(eventBody).min(1).max(MAX_BATCH) }).openapi('InteractionEvents')

export type EventBody = z.output<typeof eventBody>

/**
 * Checks the time of an event.
 * @returns what is wrong with the time; undefined if the time is valid
 */
export function timeFault({ timestamp }: EventBody, now: number): string | undefined {
  if (timestamp === undefined) return undefined
  const at = timestamp * MS_PER_SECOND
  if (at > now + MAX_AHEAD_MS) return 'is more than 5 minutes in the future'
  return at < now - MAX_AGE_MS ? 'is more than 90 days old' : undefined
}

/**
 * Converts the body of an event to the record of the interaction.
 * @param id the id for an event whose body has no id; default: the item, type and second of the event
 */
export function interactionOf(body: EventBody, now: number, id?: string): Interaction {
  const { item_id, event_type, context, metadata } = body
  const timestamp = body.timestamp === undefined ? now : Math.floor(body.timestamp * MS_PER_SECOND)
  return {
    event_id: body.event_id ?? id ?? `${item_id}-${event_type}-${Math.floor(timestamp / MS_PER_SECOND)}`,
    item_id,
    event_type,
    withdrawn: false,
    timestamp,
    page: context?.page ?? null,
    position: context?.position ?? null,
    rec_request_id: context?.rec_request_id ?? null,
    device: context?.device ?? null,
    session_id: context?.session_id ?? null,
    dwell_time_sec: metadata?.dwell_time_sec ?? null,
    rating: event_type === 'RATE' ? (metadata?.rating ?? null) : null,
    watch_pct: metadata?.watch_pct ?? null,
  }
}
