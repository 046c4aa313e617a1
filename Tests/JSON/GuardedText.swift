import Glibc
import JSON

/// Memory for a text that ends at a protected page: reading a byte after the text crashes the test.
struct GuardedText: ~Copyable {
    private let area: UnsafeMutableRawPointer
    private let capacity: Int
    private static let page = 4096

    init(bytesMax: Int) {
        capacity = (max(bytesMax, 1) + GuardedText.page - 1) / GuardedText.page * GuardedText.page
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        area = mmap(nil, capacity + GuardedText.page, PROT_READ | PROT_WRITE, flags, -1, 0)
        precondition(area != MAP_FAILED, "no memory for a guarded text")
        precondition(mprotect(area + capacity, GuardedText.page, PROT_NONE) == 0, "no guard page")
    }

    deinit { munmap(area, capacity + GuardedText.page) }

    /// Calls `body` with a copy of `bytes` that ends at the guard.
    func with<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(bytes.count <= capacity, "the text is longer than its area")
        let target = UnsafeMutableRawBufferPointer(start: area + capacity - bytes.count, count: bytes.count)
        target.copyBytes(from: bytes)
        return body(UnsafeRawBufferPointer(target))
    }
}

extension JSONParser {
    /// Parses a guarded copy of the text and calls `body` with the value.
    mutating func read<Value>(
        _ bytes: [UInt8], in memory: borrowing GuardedText, _ body: (JSONValue) -> Value
    ) -> Result<Value, JSONError> {
        memory.with(bytes) { text in
            do throws(JSONError) { return .success(body(try parse(text))) } catch { return .failure(error) }
        }
    }
}

/// Parses one text with a new parser.
func read<Value>(
    _ bytes: [UInt8], limits: JSONLimits = JSONLimits(), _ body: (JSONValue) -> Value
) -> Result<Value, JSONError> {
    var parser = JSONParser(limits: limits)
    return parser.read(bytes, in: GuardedText(bytesMax: bytes.count), body)
}

func read<Value>(
    _ text: String, limits: JSONLimits = JSONLimits(), _ body: (JSONValue) -> Value
) -> Result<Value, JSONError> {
    read(Array(text.utf8), limits: limits, body)
}

/// Why the text is refused; nil if it is accepted.
func refusal(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> JSONError? {
    if case .failure(let error) = read(bytes, limits: limits, { _ in () }) { return error }
    return nil
}

func refusal(_ text: String, limits: JSONLimits = JSONLimits()) -> JSONError? {
    refusal(Array(text.utf8), limits: limits)
}
