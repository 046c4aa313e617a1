/// YAML text in which repeated keys are disguised: the first character of each is replaced by a character that
/// occurs nowhere else in the text.
struct KeyDisguise {
    private var scalars: String.UnicodeScalarView
    private var originals: [Unicode.Scalar] = []
    private static let firstMask: UInt32 = 0xE001

    init(_ text: String) {
        scalars = text.unicodeScalars
    }

    var text: String { String(scalars) }
    var count: Int { originals.count }

    /// - Returns: False if the key at the place has no first character that could be replaced, for example because the
    ///   key begins with an escape.
    mutating func hide(at place: Place) -> Bool {
        guard var index = scalars.index(of: place).map(skipProperties) else { return false }
        guard index < scalars.endIndex else { return false }
        if scalars[index] == "\"" || scalars[index] == "'" { index = scalars.index(after: index) }
        guard index < scalars.endIndex, !"\\\"'&!?[{\r\n".unicodeScalars.contains(scalars[index]),
            let mask = Unicode.Scalar(Self.firstMask + UInt32(count))
        else { return false }
        originals.append(scalars[index])
        scalars.replaceSubrange(index...index, with: [mask])
        return true
    }

    /// Where the key itself begins, after its anchor and its tag.
    private func skipProperties(from start: String.Index) -> String.Index {
        var rest = scalars[start...]
        while let first = rest.first, first == "&" || first == "!" {
            rest = rest.drop { $0 != " " && $0 != "\n" }.drop { $0 == " " }
        }
        return rest.startIndex
    }

    /// The key before its disguise.
    func original(_ key: String) -> String {
        guard let mask = key.unicodeScalars.first?.value, mask >= Self.firstMask, mask < Self.firstMask + UInt32(count)
        else { return key }
        return String(originals[Int(mask - Self.firstMask)]) + String(key.unicodeScalars.dropFirst())
    }
}

extension String {
    /// Replaces single scalars, even before a combining mark.
    func replacing(_ old: Unicode.Scalar, with new: Unicode.Scalar) -> String {
        var result = UnicodeScalarView()
        result.append(contentsOf: unicodeScalars.lazy.map { $0 == old ? new : $0 })
        return String(result)
    }
}

extension String.UnicodeScalarView {
    func index(of place: Place) -> Index? {
        var start = startIndex
        for _ in 1..<place.line {
            guard let end = self[start...].firstIndex(of: "\n") else { return nil }
            start = index(after: end)
        }
        return index(start, offsetBy: place.column - 1, limitedBy: endIndex).flatMap { $0 < endIndex ? $0 : nil }
    }
}
