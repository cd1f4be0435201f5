import { z } from '@hono/zod-openapi'
import { text } from '../text.ts'

/** Category ids are positive 32-bit integers. */
const MOST_CATEGORY_ID = 2 ** 31 - 1
const MOST_NAME_CHARACTERS = 200
const MOST_SLUG_CHARACTERS = 100

export const categoryId = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, 'must be a positive integer')
  .transform(Number)
  .refine((id) => id <= MOST_CATEGORY_ID, `must be at most ${MOST_CATEGORY_ID}`)
  .openapi({ type: 'integer', minimum: 1, maximum: MOST_CATEGORY_ID, description: 'The id of a category.', example: 12 })

export const category = z
  .object({
    category_id: z.int().openapi({ example: 12 }),
    parent_id: z.int().nullable().openapi({ description: 'Null for a root.', example: 3 }),
    name: z.string().openapi({ example: 'Saws' }),
    slug: z.string().openapi({ example: 'saws' }),
    path: z.string().openapi({ description: 'The slugs from the root to this category, joined by slashes.', example: 'tools/saws' }),
    category_path: z
      .array(z.string())
      .openapi({ description: 'The names of the categories from the root to this category.', example: ['Tools', 'Saws'] }),
  })
  .openapi('Category')

export const newCategory = z
  .strictObject({
    name: text(MOST_NAME_CHARACTERS, 1, 'The name that buyers see.').openapi({ example: 'Saws' }),
    slug: z
      .string()
      .max(MOST_SLUG_CHARACTERS)
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be words of a-z and 0-9, joined by hyphens')
      .refine((slug) => !/^\d+$/.test(slug), 'must not be a number, because a number is read as an id')
      .openapi({ description: 'The part of a path that identifies this category among its siblings.', example: 'saws' }),
    parent_id: z
      .int()
      .min(1)
      .max(MOST_CATEGORY_ID)
      .nullish()
      .openapi({ description: 'The parent category. Omit it for a root.', example: 3 }),
  })
  .openapi('NewCategory')
