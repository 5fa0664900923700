/** Every stored text has these fields in this order. A value cannot match, because its quotes would be escaped. */
const FACTS =
  /("status":"([a-z]+)".*?"tokens":\[(.*?)\](,"created_at":.*?)?,"strike":.*?"volume":(null|[-+.\deE]+),"liquidity":(null|[-+.\deE]+),"open_interest":(?:null|[-+.\deE]+))\}/g
const UP = tokenOf('Up')
const DOWN = tokenOf('Down')

/** For records that were stored before these fields existed. */
const UNKNOWN_RECORD = ',"created_at":null,"updated_at":null,"tags":[]'

/**
 * Adds to the texts of markets what follows from their stored fields: the token of each leg, and the volume and
 * liquidity of a resolved market, which no longer change.
 */
export function withLegs(text: string): string {
  return text.replace(
    FACTS,
    (
      _all,
      fields: string,
      status: string,
      tokens: string,
      record: string | undefined,
      volume: string,
      liquidity: string,
    ) => {
      const isFinal = status === 'resolved'
      const legs = `"clob_token_up":${UP.exec(tokens)?.[1] ?? null},"clob_token_down":${DOWN.exec(tokens)?.[1] ?? null}`
      return `${fields}${record === undefined ? UNKNOWN_RECORD : ''},${legs},"final_volume":${isFinal ? volume : null},"final_liquidity":${isFinal ? liquidity : null}}`
    },
  )
}

function tokenOf(outcome: string): RegExp {
  return new RegExp(`"token_id":("[^"]*"),"outcome":"${outcome}"`)
}
