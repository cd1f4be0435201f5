;; Computes the inner products of a query with 8-bit vectors that follow one another in memory.
;; $query: address of the query, as 16-bit integers. $row: address of the first vector. $count: number of vectors.
;; $dimensions: a multiple of 32. $out: address of the products, as 32-bit integers.
(module
  (import "memory" "memory" (memory 1))
  (func (export "products") (param $query i32) (param $row i32) (param $count i32) (param $dimensions i32) (param $out i32)
    (local $end i32) (local $rowEnd i32) (local $at i32) (local $one v128) (local $other v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $rows
        (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
        (local.set $rowEnd (i32.add (local.get $row) (local.get $dimensions)))
        (local.set $at (local.get $query))
        (local.set $one (v128.const i32x4 0 0 0 0))
        (local.set $other (v128.const i32x4 0 0 0 0))
        ;; Two separate sums, because additions to the same sum would have to wait for each other.
        (loop $values
          (local.set $one (i32x4.add (local.get $one)
            (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $row)) (v128.load (local.get $at)))))
          (local.set $other (i32x4.add (local.get $other)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=8 (local.get $row)) (v128.load offset=16 (local.get $at)))))
          (local.set $one (i32x4.add (local.get $one)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=16 (local.get $row)) (v128.load offset=32 (local.get $at)))))
          (local.set $other (i32x4.add (local.get $other)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=24 (local.get $row)) (v128.load offset=48 (local.get $at)))))
          (local.set $at (i32.add (local.get $at) (i32.const 64)))
          (local.set $row (i32.add (local.get $row) (i32.const 32)))
          (br_if $values (i32.lt_u (local.get $row) (local.get $rowEnd))))
        (local.set $one (i32x4.add (local.get $one) (local.get $other)))
        (i32.store (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $one)) (i32x4.extract_lane 1 (local.get $one)))
            (i32.add (i32x4.extract_lane 2 (local.get $one)) (i32x4.extract_lane 3 (local.get $one)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br $rows)))))
