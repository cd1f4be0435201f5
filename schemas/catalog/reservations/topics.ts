import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { avro } from '../../load.ts'
import { APPEND_TIME, commandsKept, compacted } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import { BY_RESERVATION } from '../partitions.ts'
import type { Cart, CartCommand } from '../types.ts'

/** Requests about carts; key: reservation_id. The broker sets the timestamps, because the clocks of callers differ. */
export const reservationCommands: Topic<string, Command<CartCommand>> = commandTopic('reservation-commands', {
  value: avro('catalog/CartCommand'),
  ...BY_RESERVATION,
  config: { ...commandsKept, ...APPEND_TIME },
})

/** Carts for the view, and the results of commands; key: reservation_id. */
export const reservationDecisions: Topic<string, Decision<Cart>> = decisionTopic('reservation-decisions', {
  value: avro('catalog/Cart'),
  ...BY_RESERVATION,
  config: compacted,
})

export const reservationTopics = [reservationCommands, reservationDecisions]
