import { z } from 'zod'

/** The job that a worker passes to the training program in a JSON file. */
export const childJobSchema = z.object({
  /** The folder of the job file. It receives all files that training writes. */
  folder: z.string(),
  tools: z.string(),
  python: z.string().nullable(),
  sequence: z.int().min(1),
  /** Epoch ms. */
  trained_at: z.int(),
  in_force: z
    .object({
      version: z.string(),
      sequence: z.int(),
      trained_at: z.int(),
      files: z.array(z.object({ name: z.string(), hash: z.string(), bytes: z.int() })),
    })
    .nullable(),
})
export type ChildJob = z.infer<typeof childJobSchema>
