import { createContext, useContext, type ComponentType } from 'react'
import type { TimelineItem } from '@/events/fold/reduce'

export type ItemComponent = ComponentType<{ item: TimelineItem }>

/** Renders an item of a timeline. Rows that contain another timeline use it. */
const ItemContext = createContext<ItemComponent | null>(null)

export const ItemRendererProvider = ItemContext

export function useItemRenderer(): ItemComponent | null {
  return useContext(ItemContext)
}
