import PipelineRuntime

/// Pairs the events of two outputs. Equal events at the beginning and at the end are pairs; the events between are
/// paired in their order.
struct LinePairs {
    typealias Line = UnsafeRawBufferPointer

    /// One side of a pair is nil if the other output has more events.
    let pairs: [(Line?, Line?)]

    init(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) {
        let (left, right) = (Array(Lines(left)), Array(Lines(right)))
        let shorter = min(left.count, right.count)
        var same = 0
        while same < shorter, left[same].isSame(as: right[same]) { same += 1 }
        var tail = 0
        while tail < shorter - same, left[left.count - 1 - tail].isSame(as: right[right.count - 1 - tail]) { tail += 1 }
        let (leftMiddle, rightMiddle) = (left[same..<(left.count - tail)], right[same..<(right.count - tail)])
        let middle = (0..<max(leftMiddle.count, rightMiddle.count)).map {
            (leftMiddle.dropFirst($0).first, rightMiddle.dropFirst($0).first)
        }
        pairs =
            zip(left[..<same], right[..<same]).map { ($0, $1) } + middle
            + zip(left.suffix(tail), right.suffix(tail)).map { ($0, $1) }
    }
}
