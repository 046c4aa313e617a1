import Glibc

/// The events of a batch: one a line.
enum EventLines {
    /// Checks what a writer is about to append.
    static func check(_ body: UnsafeRawBufferPointer, count: Int) throws(EventLogError) {
        let (batchMax, eventMax) = (EventLogLimits.batchBytesMax, EventLogLimits.eventBytesMax)
        guard body.count <= batchMax else { throw .tooLarge("the batch", bytes: body.count, bytesMax: batchMax) }
        var (lines, longest, start) = (0, 0, 0)
        while let end = unsafe end(ofLineAt: start, in: body) {
            lines += 1
            longest = max(longest, end - start)
            start = end
        }
        precondition(lines == count && start == body.count, "a batch of \(count) events has as many ended lines")
        guard longest <= eventMax else { throw .tooLarge("an event", bytes: longest, bytesMax: eventMax) }
    }

    /// Where the line after this one begins; nil where no line feed follows.
    static func end(ofLineAt start: Int, in body: UnsafeRawBufferPointer) -> Int? {
        guard start < body.count, let base = body.baseAddress,
            let hit = unsafe memchr(base + start, CInt(UInt8(ascii: "\n")), body.count - start)
        else { return nil }
        return unsafe base.distance(to: hit) + 1
    }
}
