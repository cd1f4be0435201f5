import { expect, test } from 'vitest'
import { inverseOf } from '../../../../api/recommendations/model/inverse.ts'

const SIZE = 20

test('a matrix times its inverse is the identity', async () => {
  const factors = Array.from({ length: 3 * SIZE }, (_, row) => Array.from({ length: SIZE }, (_, column) => Math.sin(row * 7 + column ** 2)))
  const at = (row: number, column: number) => factors.reduce((sum, one) => sum + one[row] * one[column], row === column ? 0.5 : 0)
  const matrix = Float64Array.from({ length: SIZE * SIZE }, (_, index) => at(Math.floor(index / SIZE), index % SIZE))
  const inverse = await inverseOf(matrix, SIZE)
  for (let row = 0; row < SIZE; row++) {
    for (let column = 0; column < SIZE; column++) {
      let sum = 0
      for (let inner = 0; inner < SIZE; inner++) sum += matrix[row * SIZE + inner] * inverse[inner * SIZE + column]
      expect(sum).toBeCloseTo(row === column ? 1 : 0, 9)
    }
  }
})

test('a matrix that is not positive definite is refused', async () => {
  await expect(inverseOf(new Float64Array([1, 2, 2, 1]), 2)).rejects.toThrow('not positive definite')
})
