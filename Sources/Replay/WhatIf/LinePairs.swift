import PipelineRuntime

/// Puts the events of two outputs side by side: the same ones at both ends, then those between, as far as they go.
struct LinePairs: Sequence {
    typealias Line = UnsafeRawBufferPointer

    private let pairs: [(Line?, Line?)]

    init(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) {
        let (left, right) = (Array(Lines(left)), Array(Lines(right)))
        let shorter = Swift.min(left.count, right.count)
        var same = 0
        while same < shorter, left[same].isSame(as: right[same]) { same += 1 }
        var tail = 0
        while tail < shorter - same, left[left.count - 1 - tail].isSame(as: right[right.count - 1 - tail]) { tail += 1 }
        let (leftMiddle, rightMiddle) = (left[same..<(left.count - tail)], right[same..<(right.count - tail)])
        pairs =
            zip(left[..<same], right[..<same]).map { ($0, $1) } + LinePairs.sideBySide(leftMiddle, rightMiddle)
            + zip(left.suffix(tail), right.suffix(tail)).map { ($0, $1) }
    }

    func makeIterator() -> IndexingIterator<[(Line?, Line?)]> { pairs.makeIterator() }

    private static func sideBySide(_ left: ArraySlice<Line>, _ right: ArraySlice<Line>) -> [(Line?, Line?)] {
        (0..<Swift.max(left.count, right.count)).map { (left.dropFirst($0).first, right.dropFirst($0).first) }
    }
}
