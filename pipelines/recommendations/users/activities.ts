import { placeOf, unpackIds } from '../../../schemas/recommendations/events/packed-items.ts'
import { isViewed, weightOf } from '../../../schemas/recommendations/events/weights.ts'
import type { Interaction, ItemActivity, UserState } from '../../../schemas/recommendations/types.ts'

/**
 * Collects the activities of items between two commits, so that a hot item causes hardly more records than other items.
 */
export interface Activities {
  /**
   * Adds an interaction.
   * @param before,after the user before and after the interaction
   * @param followsList whether the event names one of the last lists that were served to the same user
   */
  addInteraction(event: Interaction, before: UserState, after: UserState, followsList: boolean): void
  addShown(itemId: bigint, at: number): void
  /** Returns the activities since the last call, by item. The activity of a very hot item is in several parts. */
  take(): readonly ActivityOfItem[]
}

type ActivityOfItem = readonly [itemId: bigint, activity: ItemActivity]

/**
 * A part of an item's activity is full when it has this many entries. An entry takes 20 to 40 bytes, so a part is far
 * smaller than the largest record that brokers accept. During a backlog, a commit can contain more entries about one
 * item than fit into a record.
 */
export const FULL_ENTRIES = 10_000

/**
 * Factor by which the weight of a pair is multiplied for each item that the user viewed between its two items:
 * docs/services/recommendations.md#neighbours
 */
const CLOSENESS_PER_PLACE = 0.8

export function activities(): Activities {
  let pending = new Map<bigint, ItemActivity>()
  let full: ActivityOfItem[] = []

  function of(itemId: bigint): ItemActivity {
    const known = pending.get(itemId)
    if (known !== undefined && entriesOf(known) < FULL_ENTRIES) return known
    if (known !== undefined) full.push([itemId, known])
    const made: ItemActivity = { events: [], near: [], entered: [], shown: [] }
    pending.set(itemId, made)
    return made
  }

  /**
   * If an item becomes one of the user's last views, pairs it with each of the other last views. An item that is
   * already among the last views has been paired with all of them, so repetitions add no pairs.
   */
  function addPairs(itemId: bigint, at: number, before: UserState, after: UserState): void {
    const place = placeOf(after.viewed, itemId)
    if (place < 0 || placeOf(before.viewed, itemId) >= 0) return
    const own = of(itemId)
    own.entered.push(at)
    unpackIds(after.viewed).forEach((otherId, otherPlace) => {
      if (otherId === itemId) return
      const closeness = CLOSENESS_PER_PLACE ** (Math.abs(otherPlace - place) - 1)
      own.near.push({ item_id: otherId, closeness, at })
      of(otherId).near.push({ item_id: itemId, closeness, at })
    })
  }

  return {
    addInteraction(event, before, after, followsList) {
      const { item_id, event_type, timestamp, rating } = event
      const { country, age_bucket } = after
      // An item that the user chooses is removed from the shown items, so one list causes at most one choice of the
      // item.
      const is_chosen = followsList && isViewed(event_type) && placeOf(before.shown, item_id) >= 0
      of(item_id).events.push({ event_type, at: timestamp, weight: weightOf(event), is_chosen, rating, country, age_bucket })
      if (isViewed(event_type)) addPairs(item_id, timestamp, before, after)
    },
    addShown(itemId, at) {
      of(itemId).shown.push(at)
    },
    take() {
      const taken = [...full, ...pending]
      full = []
      pending = new Map()
      return taken
    },
  }
}

function entriesOf({ events, near, entered, shown }: ItemActivity): number {
  return events.length + near.length + entered.length + shown.length
}
