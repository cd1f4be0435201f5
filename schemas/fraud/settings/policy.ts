import { type AloneThresholds, MODELS, type ModelName, type Policy } from '../decision/policy.ts'
import type { FraudAloneThresholds, FraudPolicy } from '../types.ts'

export function policyOf(record: FraudPolicy): Policy {
  return { ...record, alone: perModel((model) => presentOf(record.alone[model])) }
}

export function policyRecord(policy: Policy): FraudPolicy {
  const { weights, levels, thresholds, floors, default_profile } = policy
  return {
    version: policy.version,
    weights: { ...weights },
    levels: { ...levels },
    thresholds: { ...thresholds },
    alone: perModel((model) => nullableOf(policy.alone[model])),
    floors: { ...floors },
    default_profile: { ...default_profile },
  }
}

function perModel<T>(of: (model: ModelName) => T): Record<ModelName, T> {
  return Object.fromEntries(MODELS.map((model) => [model, of(model)])) as Record<ModelName, T>
}

function presentOf(thresholds: FraudAloneThresholds): AloneThresholds {
  return Object.fromEntries(Object.entries(thresholds).filter(([, value]) => value !== null))
}

function nullableOf({ medium, high, critical }: AloneThresholds): FraudAloneThresholds {
  return { medium: medium ?? null, high: high ?? null, critical: critical ?? null }
}
