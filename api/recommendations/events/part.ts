import { interactions } from '../../../schemas/recommendations/topics.ts'
import type { Interaction } from '../../../schemas/recommendations/types.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import { commandIdOf, hashOf } from '../../kit/commands/idempotency.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { userOf } from '../caller.ts'
import type { RecommendationsPart } from '../part.ts'
import { type EventBody, interactionOf, timeFault } from './model.ts'
import { hideRoute, postEventRoute, postEventsRoute, unhideRoute } from './routes.ts'

export type EventsDeps = Pick<ServiceKit, 'facts' | 'now'>

/** Creates the routes that receive events. The API responds to a request once Kafka has acknowledged its events. */
export function eventsPart({ facts, now }: EventsDeps): RecommendationsPart {
  const accepted = (more: object = {}) => jsonAnswer(202, { status: 'accepted', ...more })

  function assertTimes(events: readonly EventBody[], placeOf: (index: number) => string): void {
    const time = now()
    const details = events.flatMap((event, index) => {
      const fault = timeFault(event, time)
      return fault === undefined ? [] : [{ path: `${placeOf(index)}.timestamp`, message: fault }]
    })
    if (details.length > 0) throw new ApiError(errors.invalid_request, { details })
  }

  /**
   * Returns the id of an event in a request with an Idempotency-Key; undefined if the request has no key. A repeated
   * request gets the same ids, because the id does not depend on the time of the request. Two callers may choose the
   * same key for events of the same user, so the id depends on the caller.
   */
  function idOf(caller: Caller, key: string | undefined, index: number, { item_id, event_type }: EventBody): string | undefined {
    return key === undefined ? undefined : `key-${hashOf([commandIdOf(caller, '', key), index, String(item_id), event_type])}`
  }

  /**
   * Returns the event that hides an item or allows it again. The event's id contains the change and the time, so that
   * the event does not count as a repetition of an earlier one.
   */
  function hiding(itemId: bigint, withdrawn: boolean): Interaction {
    const at = now()
    const event = interactionOf({ item_id: itemId, event_type: 'SKIP' }, at)
    return { ...event, event_type: 'NOT_INTERESTED', event_id: `${itemId}-${withdrawn ? 'show' : 'hide'}-${at}`, withdrawn }
  }

  return {
    routes: [
      bind(postEventRoute, async ({ caller, body, idempotencyKey }) => {
        const userId = userOf(caller!, body.user_id, 'body.user_id')
        assertTimes([body], () => 'body')
        await facts.publish(interactions, userId, interactionOf(body, now(), idOf(caller!, idempotencyKey, 0, body)))
        return accepted()
      }),
      bind(postEventsRoute, async ({ caller, body: { events }, idempotencyKey }) => {
        const users = events.map((event, index) => userOf(caller!, event.user_id, `body.events[${index}].user_id`))
        assertTimes(events, (index) => `body.events[${index}]`)
        const time = now()
        await Promise.all(
          events.map((event, index) =>
            facts.publish(interactions, users[index], interactionOf(event, time, idOf(caller!, idempotencyKey, index, event))),
          ),
        )
        return accepted({ events: events.length })
      }),
      bind(hideRoute, async ({ caller, body }) => {
        await facts.publish(interactions, BigInt(caller!.subject), hiding(body.item_id, false))
        return accepted()
      }),
      bind(unhideRoute, async ({ caller, params }) => {
        await facts.publish(interactions, BigInt(caller!.subject), hiding(params.item_id, true))
        return accepted()
      }),
    ],
  }
}
