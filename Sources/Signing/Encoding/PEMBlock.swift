import Foundation

/// A PEM block: a label, and bytes in lines of Base64 (RFC 7468, strict form).
struct PEMBlock {
    let label: String
    let bytes: [UInt8]

    private static let lineCharacters = 64
    private static let (start, end, dashes) = ("-----BEGIN ", "-----END ", "-----")
}

extension PEMBlock {
    /// Reads a text that is one block. Empty lines are ignored.
    init(_ text: String) throws(SigningError) {
        try self.init(lines: text.split(whereSeparator: \.isNewline))
    }

    /// Reads the one block in a text that can have other text before and after the block.
    init(within text: String) throws(SigningError) {
        guard let start = text.range(of: PEMBlock.start), let last = text.range(of: PEMBlock.end, options: .backwards),
            let end = text.range(of: PEMBlock.dashes, range: last.upperBound..<text.endIndex),
            start.lowerBound < end.upperBound
        else { throw .unreadable(reason: "there is no PEM block") }
        let block = text[start.lowerBound..<end.upperBound]
        try self.init(lines: block.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline))
    }

    private init(lines: [Substring]) throws(SigningError) {
        guard let label = lines.first.flatMap({ PEMBlock.label(of: $0, after: PEMBlock.start) }),
            label == lines.last.flatMap({ PEMBlock.label(of: $0, after: PEMBlock.end) })
        else { throw .unreadable(reason: "the text is not exactly one PEM block") }
        let body = lines.dropFirst().dropLast()
        guard let last = body.last, (1...PEMBlock.lineCharacters).contains(last.utf8.count),
            body.dropLast().allSatisfy({ $0.utf8.count == PEMBlock.lineCharacters }),
            let bytes = Data(base64Encoded: body.joined()), !bytes.isEmpty
        else {
            throw .unreadable(
                reason: "there are several PEM blocks, or the only one is not Base64 in lines of "
                    + "\(PEMBlock.lineCharacters) characters")
        }
        self.init(label: label, bytes: Array(bytes))
    }

    private static func label(of line: Substring, after start: String) -> String? {
        guard line.hasPrefix(start), line.dropFirst(start.count).hasSuffix(dashes) else { return nil }
        return String(line.dropFirst(start.count).dropLast(dashes.count))
    }

    /// The block as PEM, without a line feed at the end.
    var text: String {
        let base64 = Array(Data(bytes).base64EncodedString().utf8)
        let lines = stride(from: 0, to: base64.count, by: PEMBlock.lineCharacters).map {
            String(decoding: base64[$0..<min($0 + PEMBlock.lineCharacters, base64.count)], as: UTF8.self)
        }
        return ([PEMBlock.start + label + PEMBlock.dashes] + lines + [PEMBlock.end + label + PEMBlock.dashes]).joined(
            separator: "\n")
    }
}
