import type { FraudRequest } from '../../../schemas/fraud/types.ts'

type Part = Readonly<Record<string, unknown>>

/** Returns the JSON body of a scoring request. Fields that the request does not have are left out. */
export function requestBody({ timestamp, device, payer, payee, payment_instrument, session, ...rest }: FraudRequest) {
  const { lat, lng, ...identity } = device
  const place = lat === null || lng === null ? {} : { geo_location: { lat, lng } }
  return {
    ...rest,
    timestamp: new Date(timestamp).toISOString(),
    // E-mail addresses and phone numbers are omitted, because those of invented people would be meaningless.
    payer: present({ user_id: payer.user_id, account_age_days: payer.account_age_days, country: payer.country }),
    payee: present({ ...payee }),
    payment_instrument: present({ ...payment_instrument }),
    device: { ...present(identity), ...place },
    session: present({ ...session }),
  }
}

function present(part: Part): Part {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== null))
}
