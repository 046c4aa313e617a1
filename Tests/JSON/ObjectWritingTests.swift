import JSON
import Testing

struct ObjectWritingTests {
    @Test func `members are separated by commas`() {
        let object = ByteBuffer.object {
            $0.append("text", "a \"b\" {")
            $0.append("number", 3)
            $0.append("flag", true)
            $0.append("word", word: "open")
            $0.append("texts", ["[", "{"])
            $0.append("none", [])
            $0.append(member: "object")
            $0.object { $0.append("raw", raw: "{}") }
            $0.append(key: "a \"key\"")
            $0.appendJSON(1.5)
        }
        #expect(
            object.text
                == #"{"text":"a \"b\" {","number":3,"flag":true,"word":"open","texts":["[","{"],"none":[],"#
                + #""object":{"raw":{}},"a \"key\"":1.5}"#)
    }

    @Test func `a nil value appends no member`() {
        let object = ByteBuffer.object {
            $0.append("text", nil as String?)
            $0.append("number", nil as Int?)
            $0.append("raw", raw: nil)
        }
        #expect(object.text == "{}")
    }

    @Test func `a member at the start of a buffer begins with a comma`() {
        var buffer = ByteBuffer()
        buffer.append("a", 1)
        #expect(buffer.text == #","a":1"#)
    }

    @Test(arguments: 1...40)
    func `a member can be appended to a buffer of any length`(written: Int) {
        var buffer = ByteBuffer(capacity: 16)
        for _ in 0..<written { buffer.append("1") }
        buffer.append("member", 2)
        #expect(buffer.text == String(repeating: "1", count: written) + #","member":2"#)
    }
}
