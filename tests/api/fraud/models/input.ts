import { NO_FEATURES } from '../../../../api/fraud/score/no-features.ts'
import type { ModelInput } from '../../../../schemas/fraud/models/inputs.ts'
import { NO_IP_FACTS, type Payment, pay } from '../../../schemas/fraud/payments.ts'

/** Returns the model input for a payment without optional data. */
export function inputOf(payment: Payment = {}): ModelInput {
  const request = pay(payment)
  return { request, ip: NO_IP_FACTS, features: { ...NO_FEATURES, amount_usd: request.amount } }
}
