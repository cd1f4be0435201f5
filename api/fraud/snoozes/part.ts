import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { snoozeIdOf, snoozeKey } from '../../../schemas/fraud/settings/keys.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import { hasCardNumber } from '../score/card-number.ts'
import type { ChangeSettings } from '../settings-commands.ts'
import type { FraudSettingsInForce } from '../settings-in-force.ts'
import { snoozedValue, snoozeJson } from './model.ts'
import { endSnoozeRoute, listSnoozesRoute, snoozeRoute } from './routes.ts'

export interface SnoozesDeps {
  readonly settings: FraudSettingsInForce
  readonly changeSettings: ChangeSettings
  readonly hashes: Pick<PersonalHashes, 'email'>
  /** Epoch ms. */
  now(): number
}

/** Creates the routes that operators use to create, list and end snoozes. A snooze makes a rule skip an entity. */
export function snoozesPart({ settings, changeSettings, hashes, now }: SnoozesDeps): FraudPart {
  return {
    routes: [
      bind(snoozeRoute, async (input) => {
        const { rule_id } = input.params
        const { entity_type, hours, reason } = input.body
        if (entity_type === 'CARD_HASH') assertNoCardNumber(input.body.entity_value)
        const entity_value = snoozedValue(entity_type, input.body.entity_value, hashes)
        if (entity_value === undefined) throw invalidRequest('body.entity_value', WRONG_VALUE[entity_type] ?? 'must not be empty')
        const about = { rule_id, entity_type, entity_value }
        const snooze_id = snoozeIdOf(about)
        const snooze = { snooze_id, ...about, until: 0, reason, created_by: '', created_at: 0 }
        const asked = ['snoozeFraudRule', about, hours, reason]
        const change = {
          key: snoozeKey(snooze_id),
          action: 'snooze_rule',
          input: { rule_id, snooze, hours },
          outcome: 'snooze',
          asked,
        } as const
        return jsonAnswer(201, snoozeJson((await changeSettings(input, change)).snooze), PRIVATE)
      }),
      bind(listSnoozesRoute, ({ params: { rule_id }, query: { page, limit } }) => {
        if (!settings.rules.rules.some((rule) => rule.rule_id === rule_id)) throw new ApiError(fraudErrors.rule_not_found)
        const found = settings.allSnoozes.filter((snooze) => snooze.rule_id === rule_id && now() < snooze.until)
        found.sort((one, other) => one.until - other.until || (one.snooze_id < other.snooze_id ? -1 : 1))
        const snoozes = found.slice((page - 1) * limit, page * limit).map(snoozeJson)
        return jsonAnswer(200, { snoozes, page, limit, total: found.length }, PRIVATE)
      }),
      bind(endSnoozeRoute, async (input) => {
        const { rule_id, snooze_id } = input.params
        const asked = ['endFraudSnooze', rule_id, snooze_id]
        const missing = fraudErrors.snooze_not_found
        await changeSettings(input, {
          key: snoozeKey(snooze_id),
          action: 'end_snooze',
          input: { rule_id },
          outcome: 'removed',
          asked,
          missing,
        })
        return noContent()
      }),
    ],
  }
}

/** @throws ApiError `raw_card_number`, because settings and their audit would store the number */
function assertNoCardNumber(value: string): void {
  if (!hasCardNumber(value)) return
  const message = 'contains the number of a payment card; use the token of the card instead'
  throw new ApiError(fraudErrors.raw_card_number, { details: [{ path: 'body.entity_value', message }] })
}

const WRONG_VALUE: Readonly<Record<string, string>> = {
  IP: 'must be an IP address',
  EMAIL: 'must be an e-mail address or its hash',
}
