import Testing

@testable import PipelineKit

@Suite struct SettingsDocumentTests {
    @Test func `an alias has the value of its anchor`() throws {
        let text = "a: &x {n: [1, 2]}\nb: *x\nc: &y d\n*y : 1\n"
        var reader = try SettingsReader(text: text, file: "s.yaml")
        var nested = try #require(try reader.mapping("b"))
        #expect(try nested.strings("n") == ["1", "2"])
        #expect(reader.keys == ["a", "b", "c", "d"])
    }

    @Test func `an alias has the value of the nearest anchor of its name above it`() throws {
        var reader = try SettingsReader(text: "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", file: "s.yaml")
        #expect(try [reader.string("b"), reader.string("d")] == ["1", "2"])
        var chain = try SettingsReader(text: "a: &x 1\nb: &y *x\nc: *y\n", file: "s.yaml")
        #expect(try chain.string("c") == "1")
    }

    @Test func `an alias inside its own anchor is refused`() {
        let error = #expect(throws: PipelineFileError.self) {
            try SettingsReader(text: "a: &x [*x]\n", file: "s.yaml")
        }
        #expect(error?.errors.map(\.keyPath) == ["a[0]"])
    }

    @Test(arguments: ["c: *l29", "? *l29\n: c", "*l29 : c", "? [*l29, {*l29 : *l29}]\n: c"])
    func `aliases that would expand to more than a billion values are refused at once`(_ last: String) {
        var text = "l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
        for level in 1..<30 {
            let alias = "*l\(level - 1)"
            text += "l\(level): &l\(level) [\(Array(repeating: alias, count: 9).joined(separator: ", "))]\n"
        }
        let error = #expect(throws: PipelineFileError.self) {
            try SettingsReader(text: text + last + "\n", file: "s.yaml")
        }
        #expect(error?.errors.map(\.reason).first == "aliases add more than 10000 values")
        #expect(error?.errors.map(\.keyPath).first == "l4[0]")
        #expect((error?.errors.count ?? 0) <= 2)
    }

    @Test func `stars that are not aliases are kept`() throws {
        let text = "\"*a\": '*'\nb: \"**\"\nc: >-\n  *x y\nd: 2*3  # *\n"
        var reader = try SettingsReader(text: text, file: "s.yaml")
        #expect(reader.keys == ["*a", "b", "c", "d"])
        #expect(try reader.string("*a") == "*")
        #expect(try reader.string("b") == "**")
        #expect(try reader.string("c") == "*x y")
        #expect(try reader.string("d") == "2*3")
    }

    @Test func `words that look like booleans, numbers or dates are valid keys`() throws {
        let reader = try SettingsReader(text: "yes: 1\n12: 2\n2001-01-01: 3\n'yes ': 4\n", file: "s.yaml")
        #expect(reader.keys == ["yes", "12", "2001-01-01", "yes "])
    }

    @Test func `a file that repeats keys more than a hundred times is refused with one error`() {
        let text = String(repeating: "a: 1\n", count: 200)
        let error = #expect(throws: PipelineFileError.self) { try SettingsReader(text: text, file: "s.yaml") }
        #expect(error?.errors.map(\.description) == ["s.yaml:101:1: a: written twice"])
    }
}
