import { z } from '@hono/zod-openapi'

const MAX_ID_CHARACTERS = 50
const MAX_NAME_CHARACTERS = 200
const MAX_PRIORITY = 1_000_000

/** A draft of a rule, with the fields of the rule itself. */
export const RuleBody = z
  .object({
    rule_id: z
      .string()
      .max(MAX_ID_CHARACTERS)
      .regex(/^[A-Za-z0-9_.-]+$/, 'may contain letters, digits, _, . and - only'),
    name: z.string().min(1).max(MAX_NAME_CHARACTERS),
    condition: z.string().min(1),
    action: z.enum(['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']),
    priority: z.int().min(-MAX_PRIORITY).max(MAX_PRIORITY),
    enabled: z.boolean().default(true),
    mode: z.enum(['live', 'shadow']).default('live'),
    expires_at: z.iso
      .datetime({ offset: true })
      .transform((given) => Date.parse(given))
      .nullable()
      .default(null),
  })
  .openapi('FraudRuleDraft')

export type RuleDraft = z.output<typeof RuleBody>
