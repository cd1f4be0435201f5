import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, wholeNumber } from '../../settings/variables.ts'

/** Maximum reservation time, one day. A caller who never comes back must not keep stock reserved for longer. */
const MAX_RESERVATION_SECONDS = 86_400
const MS_PER_SECOND = 1_000

export const catalogSettings = settingsFragment({
  variables: {
    CATALOG_CURRENCY: documented(
      z
        .string()
        .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as USD')
        .prefault('USD'),
      'currency of all prices of the catalogue, as an ISO 4217 code',
    ),
    RESERVATION_SECONDS: documented(
      wholeNumber(1, MAX_RESERVATION_SECONDS).prefault('900'),
      'how long stock stays reserved for a checkout, in seconds; a change does not affect open reservations',
    ),
  },
  value: (env) => ({ currency: env.CATALOG_CURRENCY, reservationMs: env.RESERVATION_SECONDS * MS_PER_SECOND }),
})

export type CatalogSettings = ValueOf<typeof catalogSettings>
