import CloudKitModel
import Testing

struct ChangeTagTests {
    @Test(arguments: [(1, "1"), (35, "z"), (36, "10"), (159, "4f"), (.max, "3w5e11264sgsf")] as [(UInt64, String)])
    func `a tag is the sequence in base 36`(sequence: UInt64, text: String) {
        #expect(ChangeTag(sequence: sequence).text == text)
        #expect(ChangeTag(parsing: text) == ChangeTag(sequence: sequence))
    }

    @Test(arguments: ["", "4F", "+4f", "-1", "04f", " 4f", "4f ", "4_f", "3w5e11264sgsg", "zzzzzzzzzzzzzzzz"])
    func `a text that is not the base 36 form of a sequence is rejected`(text: String) {
        #expect(ChangeTag(parsing: text) == nil)
    }
}
