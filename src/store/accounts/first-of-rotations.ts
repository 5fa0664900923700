/**
 * The id of the key that stands at the beginning of a key's rotations, in the SQL of both engines: a cap that began anew
 * with each rotation would be none.
 *
 * @param key the table or alias of the key itself
 */
export function firstOfRotations(key: string): string {
  return `CASE WHEN ${key}.credit_cap IS NULL THEN ${key}.id ELSE (
    WITH RECURSIVE chain (id, steps) AS (
      SELECT ${key}.id, 0
      UNION ALL
      SELECT earlier.id, chain.steps + 1 FROM chain
        JOIN keys earlier ON earlier.replaced_by = chain.id AND earlier.account_id = ${key}.account_id
    ) SELECT chain.id FROM chain ORDER BY chain.steps DESC LIMIT 1) END`
}
